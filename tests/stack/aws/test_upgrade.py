"""An upgrade goes in the order that docs/operations.md says: a `pulumi up` changes whatever another
thing needs before that thing."""

import pytest

from stacks.pages.stacks import aws_stacks, recording_of
from stacks.preview import ROOT
from stacks.recorder import Recording, Registration
from tests.stack.removal import Order

PAGE = " ".join((ROOT / "docs" / "operations.md").read_text().split())
CONTROL_PLANE = "eks:index:Cluster"
NEEDED_BY_NODES = {"eks-pod-identity-agent", "vpc-cni", "kube-proxy"}
AT_ANY_TIME = {"eks-node-monitoring-agent"}


@pytest.fixture(scope="module", params=aws_stacks())
def recording(request: pytest.FixtureRequest) -> Recording:
    return recording_of(request.param)


def add_ons(recording: Recording) -> dict[str, Registration]:
    return {r.inputs["addonName"]: r for r in recording.of_type("aws:eks/addon:Addon")}


def follows(recording: Recording, later: list[Registration], first: list[Registration]) -> bool:
    """What goes first in a destroy is changed last in an update."""
    assert later
    assert first
    return not list(Order(recording).violations(later, first))


def test_the_control_plane_comes_first_then_what_nodes_need_then_nodes_then_the_rest(
    recording: Recording,
) -> None:
    clusters = recording.of_type(CONTROL_PLANE)
    groups = recording.of_type("aws:eks/nodeGroup:NodeGroup")
    managers = [group for group in groups if group.name.startswith("managers")]
    installed = add_ons(recording)
    needed = [installed[name] for name in NEEDED_BY_NODES]
    others = [installed[name] for name in installed.keys() - NEEDED_BY_NODES - AT_ANY_TIME]
    assert follows(recording, needed, clusters)
    assert follows(recording, groups, needed)
    assert follows(recording, others, managers)
    assert "kube-proxy and the pod network, then the node groups" in PAGE


def test_the_definition_of_jobs_is_changed_before_the_controller(recording: Recording) -> None:
    kind = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"
    controllers = [
        r
        for r in recording.of_type("kubernetes:apps/v1:Deployment")
        if r.name == "elastic-jobs-controller"
    ]
    assert follows(recording, controllers, recording.of_type(kind))


def test_the_nodes_kubernetes_is_the_control_planes(recording: Recording) -> None:
    """One setting moves both, and no node gets ahead."""
    (cluster,) = recording.of_type(CONTROL_PLANE)
    groups = recording.of_type("aws:eks/nodeGroup:NodeGroup")
    assert {group.inputs["version"] for group in groups} == {cluster.inputs["version"]}


def test_gpu_nodes_go_one_at_a_time_the_old_one_first_and_managers_the_new_one_first(
    recording: Recording,
) -> None:
    groups = recording.of_type("aws:eks/nodeGroup:NodeGroup")
    assert {group.inputs["updateConfig"]["maxUnavailable"] for group in groups} == {1}
    strategies = {
        group.name.startswith("managers"): group.inputs["updateConfig"].get("updateStrategy")
        for group in groups
    }
    assert strategies == {True: None, False: "MINIMAL"}
