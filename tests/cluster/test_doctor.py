"""`spotrain doctor` against a real API server: what researchers and administrators see."""

import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spotrain import contract, kinds
from spotrain.controller.kube import NotFound
from spotrain.explain.autoscaler import CONFIGMAP
from spotrain.explain.autoscaler import NAMESPACE as AUTOSCALER
from spotrain.kinds import Kind
from tests.cluster.cluster import Namespace, remove
from tests.cluster.command_line import Person
from tests.cluster.researchers import POOLS, admit_researchers, offer_pools
from tests.cluster.server import ADMIN_TOKEN, RESEARCHER_TOKEN
from tests.explain.scene import autoscaler_status, group

pytestmark = pytest.mark.cluster

SYSTEM = contract.SYSTEM_NAMESPACE
SHARED: tuple[tuple[Kind, str, str], ...] = (
    (kinds.CONFIG_MAPS, SYSTEM, contract.POOLS_CONFIGMAP),
    (kinds.DEPLOYMENTS, SYSTEM, contract.CONTROLLER_NAME),
    (kinds.CONFIG_MAPS, AUTOSCALER, CONFIGMAP),
)
NOT_FOR_RESEARCHERS = {"GPU plugin": "warn", "spot prices": "warn"}


@pytest.fixture
async def person(namespace: Namespace, tmp_path: Path) -> AsyncIterator[Person]:
    """A researcher of a platform that is whole."""
    kube = namespace.kube
    await keep_archive(namespace)  # before the rules, by which nobody else may have its label
    await admit_researchers(namespace)
    await offer_pools(kube)
    await namespace.claim(contract.VOLUME_CLAIM)
    await set_phase(namespace, "Bound")
    labels = {"app": "controller"}
    pod = {"containers": [{"name": "controller", "image": "example/controller@sha256:1"}]}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": contract.CONTROLLER_NAME},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    await kube.apply(kinds.DEPLOYMENTS, SYSTEM, deployment)
    counts = {"replicas": 1, "readyReplicas": 1, "updatedReplicas": 1}
    await kube.patch(
        kinds.DEPLOYMENTS,
        SYSTEM,
        contract.CONTROLLER_NAME,
        {"status": counts},
        subresource="status",
    )
    groups = [group(f"eks-{pool['name']}-{zone}-1", most=8) for pool in POOLS for zone in "ab"]
    status = {"apiVersion": "v1", "kind": "ConfigMap", **autoscaler_status(groups, now())}
    await kube.apply(kinds.CONFIG_MAPS, AUTOSCALER, status)
    kubeconfig = namespace.server.kubeconfig(f"{namespace.name}-ada", RESEARCHER_TOKEN)
    yield Person(kubeconfig, namespace.name, tmp_path)
    for shared in SHARED:
        with contextlib.suppress(NotFound):
            await remove(kube, *shared)


async def keep_archive(namespace: Namespace) -> None:
    """Its pod, of the controller's image and ready."""
    container = {"name": "archive", "image": "example/controller@sha256:1"}
    metadata = {"name": "archive", "labels": {"app.kubernetes.io/name": contract.ARCHIVE_NAME}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container]},
    }
    await namespace.kube.create(kinds.PODS, namespace.name, pod)
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await namespace.kube.patch(
        kinds.PODS, namespace.name, "archive", {"status": ready}, subresource="status"
    )


async def set_phase(namespace: Namespace, phase: str) -> None:
    status, name = {"status": {"phase": phase}}, contract.VOLUME_CLAIM
    await namespace.kube.patch(kinds.CLAIMS, namespace.name, name, status, subresource="status")


def now() -> datetime:
    return datetime.now(UTC)


async def verdicts(person: Person, code: int) -> dict[str, str]:
    answer = await person.types("doctor", "--no-cloud", "-o", "json")
    assert answer.code == code, answer
    told = answer.document
    assert isinstance(told, dict)
    return {found["check"]: found["verdict"] for found in told["findings"]}


async def test_a_researcher_of_a_whole_platform_passes(person: Person) -> None:
    found = await verdicts(person, code=0)
    assert {"kubeconfig", "rights", "clock", "job definition", "controller"} <= found.keys()
    assert {"pools", "autoscaler", "storage", "archive"} <= found.keys()
    assert {check: v for check, v in found.items() if v != "pass"} == NOT_FOR_RESEARCHERS


async def test_what_is_broken_fails_and_what_may_not_be_read_does_not(
    namespace: Namespace, person: Person
) -> None:
    await set_phase(namespace, "Lost")
    await remove(namespace.kube, kinds.DEPLOYMENTS, SYSTEM, contract.CONTROLLER_NAME)
    found = await verdicts(person, code=1)
    failed = {check for check, verdict in found.items() if verdict == "fail"}
    assert failed == {"storage", "controller"}


async def test_an_administrator_sees_the_gpu_plugin(namespace: Namespace, person: Person) -> None:
    kubeconfig = namespace.server.kubeconfig(f"{namespace.name}-admin", ADMIN_TOKEN)
    admin = Person(kubeconfig, namespace.name, person.folder)
    answer = await admin.types("doctor", "--no-cloud")
    assert answer.code == 0, answer
    assert "there is no DaemonSet nvidia-device-plugin" in " ".join(answer.out.split())
    assert max(map(len, answer.out.splitlines())) <= 80
