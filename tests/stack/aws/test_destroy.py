"""A destroy ends in one pass: nothing waits for what was removed before it."""

import copy
from collections.abc import Callable, Iterator

import pytest

from components.platform.job_namespace import CONTROLLER_JOBS_ROLE, LONGEST_GOODBYE
from stacks.pages.stacks import QUARRY, aws_stacks, recording_of
from stacks.recorder import Recording, Registration
from tests.stack.invariants.registry import pod_of
from tests.stack.removal import Order

ADDON = "aws:eks/addon:Addon"
GROUP = "aws:eks/nodeGroup:NodeGroup"
POLICY = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
NAMESPACE = "kubernetes:core/v1:Namespace"
Question = Callable[[Recording], Iterator[str]]


@pytest.fixture(scope="module", params=aws_stacks())
def recording(request: pytest.FixtureRequest) -> Recording:
    """Every stack file of AWS, and one with every option."""
    return recording_of(request.param)


def named(recording: Recording, *kinds: str, name: str = "") -> list[Registration]:
    found = [r for kind in kinds for r in recording.of_type(kind) if r.name.startswith(name)]
    assert found, f"no {kinds} {name}"
    return found


def workloads(recording: Recording) -> list[Registration]:
    return [r for r in recording.resources if r.type.startswith("kube") and pod_of(r.inputs)]


def network_addon(recording: Recording) -> list[Registration]:
    return [r for r in named(recording, ADDON) if r.inputs["addonName"] == "vpc-cni"]


def policies_go_before_the_pod_network(recording: Recording) -> Iterator[str]:
    """EKS holds each policy by a finalizer, and lets go only while vpc-cni has policies on."""
    yield from Order(recording).violations(
        named(recording, POLICY, NAMESPACE), network_addon(recording)
    )


def namespaces_go_before_every_node(recording: Recording) -> Iterator[str]:
    """A namespace is gone when its last pod is, and that a node must say."""
    yield from Order(recording).violations(named(recording, NAMESPACE), named(recording, GROUP))


def jobs_go_before_the_rights_and_the_namespace_that_they_need(
    recording: Recording,
) -> Iterator[str]:
    order = Order(recording)
    controller = named(recording, "kubernetes:apps/v1:Deployment", name="elastic-jobs-controller")
    definition = named(recording, "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition")
    namespace = named(recording, NAMESPACE, name="jobs-namespace")
    system = named(recording, NAMESPACE, name="elastic-jobs-rbac")
    rights = [
        r
        for r in named(recording, "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding")
        if r.inputs["metadata"].get("name") == CONTROLLER_JOBS_ROLE
    ]
    yield from order.violations(controller, [*definition, *rights, *system])
    yield from order.violations(definition, [*namespace, *named(recording, GROUP)])


def pods_go_before_the_nodes_that_stop_them(recording: Recording) -> Iterator[str]:
    ours = [
        w for w in workloads(recording) if w.type != "kubernetes:apps/v1:DaemonSet"
    ]  # one of those has no pod left when the last node is gone
    yield from Order(recording).violations(ours, named(recording, GROUP, name="managers"))


def nodes_go_before_their_way_to_aws(recording: Recording) -> Iterator[str]:
    """What runs on them gives interfaces and disks back by asking AWS."""
    gateways = named(recording, "aws:ec2/natGateway:NatGateway")
    routes = named(recording, "aws:ec2/route:Route", "aws:ec2/vpcEndpoint:VpcEndpoint")
    used = {gateway.inputs["subnetId"] for gateway in gateways} | {
        subnet for group in named(recording, GROUP) for subnet in group.inputs["subnetIds"]
    }
    associations = [
        each
        for each in named(recording, "aws:ec2/routeTableAssociation:RouteTableAssociation")
        if each.inputs["subnetId"] in used
    ]
    ways = [*gateways, *routes, *associations]
    yield from Order(recording).violations(named(recording, GROUP), ways)


def whoever_mounts_goes_before_the_policy_that_binds_him(recording: Recording) -> Iterator[str]:
    """A file system without a policy admits everybody who reaches it, in the clear, as root."""
    policy = named(recording, "aws:efs/fileSystemPolicy:FileSystemPolicy")
    jobs = named(recording, NAMESPACE, name="jobs-namespace")
    folders = named(recording, "kubernetes:batch/v1:Job", name="shared-folders")
    yield from Order(recording).violations([*jobs, *folders], policy)


def what_waits_for_the_last_pod_waits_long_enough(recording: Recording) -> Iterator[str]:
    """Pulumi gives up after ten minutes; a job may ask for more to say goodbye."""
    waiting = named(recording, "kubernetes:core/v1:PersistentVolumeClaim")
    for resource in (*waiting, *named(recording, NAMESPACE, name="jobs-namespace")):
        if resource.delete_timeout != LONGEST_GOODBYE:
            yield f"{resource.name} is waited for {resource.delete_timeout or 'ten minutes'}"


def a_disk_is_let_go_before_its_driver_goes(recording: Recording) -> Iterator[str]:
    """Who mounts it first, then the volume, which waits until the disk is detached: the driver does
    that, and AWS deletes no disk that is attached."""
    order, disks = Order(recording), recording.of_type("aws:ebs/volume:Volume")
    drivers = [each for each in recording.of_type(ADDON) if "ebs-csi" in each.inputs["addonName"]]
    volumes = [
        each
        for each in recording.of_type("kubernetes:core/v1:PersistentVolume")
        if each.inputs["spec"].get("csi", {}).get("driver") == "ebs.csi.aws.com"
    ]
    mounting = [
        *recording.of_type("kubernetes:helm.sh/v3:Release"),
        *(n for n in recording.of_type(NAMESPACE) if n.name.startswith("metrics")),
    ]
    if len(volumes) != len(disks):
        yield f"{len(disks)} disks, {len(volumes)} volumes"
    yield from order.violations(mounting, volumes)
    yield from order.violations(volumes, [*disks, *drivers])


def the_autoscaler_goes_before_the_groups_that_it_would_fill_again(
    recording: Recording,
) -> Iterator[str]:
    autoscaler = named(recording, "kubernetes:apps/v1:Deployment", name="autoscaler")
    yield from Order(recording).violations(autoscaler, named(recording, GROUP))


QUESTIONS: dict[Question, list[tuple[str, str]]] = {
    policies_go_before_the_pod_network: [
        (NAMESPACE, "jobs-namespace"),
        (POLICY, "elastic-jobs-network"),
    ],
    namespaces_go_before_every_node: [
        (NAMESPACE, "jobs-namespace"),
        (NAMESPACE, "elastic-jobs-rbac"),
    ],
    jobs_go_before_the_rights_and_the_namespace_that_they_need: [
        ("kubernetes:apps/v1:Deployment", "elastic-jobs-controller"),
        ("kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition", "elastic-jobs-crd"),
    ],
    pods_go_before_the_nodes_that_stop_them: [
        ("kubernetes:apps/v1:Deployment", "elastic-jobs-controller"),
    ],
    a_disk_is_let_go_before_its_driver_goes: [],
    whoever_mounts_goes_before_the_policy_that_binds_him: [
        (NAMESPACE, "jobs-namespace"),
        ("kubernetes:batch/v1:Job", "shared-folders"),
    ],
    nodes_go_before_their_way_to_aws: [("aws:ec2/natGateway:NatGateway", "network-nat")],
    the_autoscaler_goes_before_the_groups_that_it_would_fill_again: [
        ("kubernetes:apps/v1:Deployment", "autoscaler"),
    ],
}
"""What must hold -> resources that break it when they wait for nothing."""


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.__name__)
def test_it_ends(recording: Recording, question: Question) -> None:
    assert list(question(recording)) == []


@pytest.mark.parametrize(
    ("question", "kind", "name"),
    [(question, *place) for question, places in QUESTIONS.items() for place in places],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_forgotten_wait_is_noticed(
    recording: Recording, question: Question, kind: str, name: str
) -> None:
    broken = copy.deepcopy(recording)
    for resource in named(broken, kind, name=name):
        resource.depends_on = ()
    assert list(question(broken)) != []


def test_a_disk_that_its_driver_would_leave_behind_is_noticed() -> None:
    """Not every stack has a disk, so its story is told with the one that has every option."""
    for forgetful in ("metrics-disk", "metrics-namespace"):
        broken = copy.deepcopy(recording_of(QUARRY.stem))
        (resource,) = (r for r in broken.resources if r.name == forgetful)
        resource.depends_on = ()
        assert list(a_disk_is_let_go_before_its_driver_goes(broken)) != []


def test_nothing_is_waited_for_too_briefly(recording: Recording) -> None:
    assert list(what_waits_for_the_last_pod_waits_long_enough(recording)) == []
    hasty = copy.deepcopy(recording)
    named(hasty, "kubernetes:core/v1:PersistentVolumeClaim")[0].delete_timeout = ""
    assert list(what_waits_for_the_last_pod_waits_long_enough(hasty)) != []


def test_no_job_and_no_pod_of_ours_has_a_finalizer(recording: Recording) -> None:
    """Whoever would remove it might be gone."""
    held = [
        r.name
        for r in recording.resources
        if r.type.startswith("kubernetes:") and "finalizers" in str(r.inputs.get("metadata"))
    ]
    assert held == []
