"""Our workloads pass `restricted`, and whoever judges them notices each thing it forbids."""

from collections.abc import Iterator
from typing import Any

import pytest

from stacks.pages.stacks import QUARRY, recording_of
from stacks.recorder import Recording
from stacks.stack_file import stack_names
from tests.stack.invariants.registry import pod_of
from tests.stack.pod_security import BAD, GOOD, changed, containers, violations

ON_THE_NODE = {
    "nvidia-device-plugin": "hands GPUs to the kubelet over a socket on the node",
    "efa-device-plugin": "hands network adapters to the kubelet over a socket on the node",
    "container-logs": "reads what containers wrote, which lies on the node and is root's",
    "gpu-metrics": "reads from the kubelet, over a socket on the node, whose GPU is whose",
}
"""Workloads that cannot pass -> what they need of the node."""
GIVES_FOLDERS_AWAY = {
    "storage-folders-made": ["pod runs as root", "folders may run as root", "folders adds CHOWN"],
}
"""On Google Cloud, once: a new Filestore is root's. All that it does beyond `restricted`."""


@pytest.fixture(scope="module", params=[*stack_names(), QUARRY.stem])
def recording(request: pytest.FixtureRequest) -> Recording:
    """Every stack file, and one with every option."""
    return recording_of(request.param)


def workloads(recording: Recording) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and pod of everything that runs and is made by us."""
    for resource in recording.resources:
        pod = pod_of(resource.inputs) if resource.type.startswith("kubernetes:") else None
        if pod and resource.inputs["metadata"].get("name") not in ON_THE_NODE:
            yield resource.name, pod


def test_the_good_pod_has_no_fault() -> None:
    assert violations(GOOD) == []


@pytest.mark.parametrize("fault", BAD)
def test_a_fault_is_noticed(fault: str) -> None:
    assert violations(changed(*BAD[fault])) != []


def test_every_pod_of_ours_passes_the_restricted_standard(recording: Recording) -> None:
    found = dict(workloads(recording))
    assert {"elastic-jobs-controller", "autoscaler-deployment"} & found.keys()
    known = {name: faults for name, faults in GIVES_FOLDERS_AWAY.items() if name in found}
    assert {name: faults for name, pod in found.items() if (faults := violations(pod))} == known


def test_every_container_of_ours_is_limited_and_cannot_write_to_its_image(
    recording: Recording,
) -> None:
    for name, pod in workloads(recording):
        for container in containers(pod):
            place = f"{name}/{container['name']}"
            assert container["resources"]["requests"].keys() >= {"cpu", "memory"}, place
            assert "memory" in container["resources"]["limits"], place
            assert container["securityContext"]["readOnlyRootFilesystem"] is True, place


def test_no_folder_of_ours_can_fill_a_nodes_disk(recording: Recording) -> None:
    """A folder without a limit fills the node's disk, and with it everybody's."""
    for name, pod in workloads(recording):
        for volume in pod.get("volumes", []):
            if "emptyDir" in volume:
                assert volume["emptyDir"].get("sizeLimit"), f"{name}/{volume['name']}"


def test_no_pod_of_ours_holds_a_token_that_it_does_not_ask_for(recording: Recording) -> None:
    for name, pod in workloads(recording):
        assert pod.get("serviceAccountName") or pod.get("automountServiceAccountToken") is False, (
            name
        )
