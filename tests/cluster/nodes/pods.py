"""Pods of shell commands, and waiting for what becomes of them."""

import asyncio
from typing import Any

from spotrain.controller.kube import Kube
from spotrain.kinds import PODS, Object
from spotrain.local.kubelet import Kubelet
from tests.cluster.cluster import Namespace, until


def pod(name: str, script: str, **spec: Any) -> Object:
    """One container that runs a shell script. `container` changes the container itself."""
    container = {
        "name": "main",
        "image": "any",
        "command": ["sh", "-c", script],
        **spec.pop("container", {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}, "annotations": {"note": "a b"}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 20,
            "containers": [container, *spec.pop("others", [])],
            **spec,
        },
    }


async def until_pod(kube: Kube, namespace: str, name: str, holds: Any) -> Object:
    """The pod, as soon as something holds of it."""

    def found(pods: list[Object]) -> bool:
        return any(one["metadata"]["name"] == name and holds(one) for one in pods)

    pods = await until(kube, PODS, namespace, found)
    return next(one for one in pods if one["metadata"]["name"] == name)


async def until_gone(kube: Kube, namespace: str, uid: str) -> None:
    await until(
        kube, PODS, namespace, lambda pods: all(one["metadata"]["uid"] != uid for one in pods)
    )


def in_phase(phase: str) -> Any:
    return lambda one: one["status"]["phase"] == phase


def ended(one: Object, container: str = "main") -> Object:
    """The terminated state of a container."""
    statuses = one["status"]["containerStatuses"]
    found = next(status for status in statuses if status["name"] == container)
    state: Object = found["state"]["terminated"]
    return state


def is_ready(one: Object) -> bool:
    conditions = one["status"].get("conditions") or []
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


async def run(place: Namespace, document: Object) -> Object:
    """The pod once it is over."""
    await place.kube.create(PODS, place.name, document)
    name = document["metadata"]["name"]
    over = ("Succeeded", "Failed")
    return await until_pod(place.kube, place.name, name, lambda one: one["status"]["phase"] in over)


def logs(kubelet: Kubelet, place: Namespace, name: str) -> str:
    folder = kubelet.options.folder / "pods"
    files = sorted(folder.glob(f"{place.name}_{name}_*/logs/*/*.log"))
    return "".join(file.read_text() for file in files)


async def until_logged(kubelet: Kubelet, place: Namespace, name: str, text: str) -> None:
    """A file tells nobody when it has grown, so it has to be looked at."""
    async with asyncio.timeout(30):
        while text not in logs(kubelet, place, name):
            await asyncio.sleep(0.02)
