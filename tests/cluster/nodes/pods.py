"""Pods of shell commands, and waiting for what becomes of them."""

from typing import Any

from spotrain.controller.kube import PODS, Kube, Object
from tests.cluster.cluster import until


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
