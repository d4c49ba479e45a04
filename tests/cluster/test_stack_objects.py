"""A real API server takes every Kubernetes object that any stack makes, and lets go of it again.

Each stack has a server of its own, without controllers: what waits for one here, after a deletion,
would wait for ever where its controller is gone first.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pulumi_kubernetes as k8s
import pytest
import yaml

from components.cloud import (
    ClassVolume,
    CsiVolume,
    HostPathVolume,
    NfsVolume,
    Volume,
    VolumeSource,
)
from components.platform.shared_volumes import SharedVolumes, SharedVolumesArgs
from stacks.pages.stacks import QUARRIES, recording_of
from stacks.preview import ROOT
from stacks.recorder import Recording, record
from stacks.stack_file import stack_names
from tests.cluster.objects import Object, Objects, body_of, in_order, objects_at
from tests.cluster.server import etcd_for_api_server

pytestmark = [
    pytest.mark.cluster,
    # pulumi_eks deprecates one of its own classes as it is imported; we use another one.
    pytest.mark.filterwarnings("ignore:NodeGroup uses:DeprecationWarning"),
]
STACKS = (*stack_names(), *QUARRIES)
EXAMPLES = sorted(
    file for file in (ROOT / "k8s" / "examples").glob("*.yaml") if file.name != "pools.yaml"
)
"""The pools are the stack's own to write."""
RELEASE = "kubernetes:helm.sh/v3:Release"
PATCH = "Patch"
"""Ends the types of what changes a part of something that others have made."""
FOREIGN_GROUPS = {"monitoring.coreos.com": "the metrics release brings its kinds along"}
OF_KUBERNETES = {
    "kubernetes": "the namespace controller's, once the namespace is empty",
    "kubernetes.io/pv-protection": "the volume controller's, once no claim is bound",
    "kubernetes.io/pvc-protection": "the volume controller's, once no pod mounts the claim",
}
"""Finalizers whose owner is part of every control plane, so that it is there to the last."""
GONE_SECONDS = 10.0
SOURCES: dict[str, VolumeSource] = {
    "nfs": NfsVolume(server="files.example", path="/exported"),
    "host": HostPathVolume(path="/var/local/spotrain"),
    "class": ClassVolume(storage_class="many-nodes", size_gib=100),
    "csi": CsiVolume(
        driver="csi.example", handle="x", attributes={"a": "b"}, mount_options=["tls"]
    ),
}


@dataclass
class Trial:
    """What the server has said to a stack's objects."""

    objects: Objects
    bodies: list[Object] = field(default_factory=list)
    foreign: set[str] = field(default_factory=set)
    """Groups of kinds that no plain cluster has."""
    refused: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    """What could not be deleted, and what the server said."""


@pytest.fixture(scope="module", params=STACKS)
def stack(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def objects(
    stack: str, binaries: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Objects]:
    """A server that has seen nothing but this stack."""
    folder = tmp_path_factory.mktemp(stack)
    with (
        etcd_for_api_server(binaries, folder) as server,
        server.running(),
        objects_at(server) as made,
    ):
        yield made


@pytest.fixture(scope="module")
def trial(stack: str, objects: Objects) -> Trial:
    """Everything applied, in the order in which it can be."""
    return applied(recording_of(stack), objects)


def applied(recording: Recording, objects: Objects) -> Trial:
    made = Trial(objects)
    for body in in_order(bodies_of(recording)):
        group = body["apiVersion"].rpartition("/")[0]
        if group in FOREIGN_GROUPS:
            made.foreign.add(group)
        elif reason := objects.apply(body):
            made.refused[named(body)] = reason
        else:
            made.bodies.append(body)
    return made


def bodies_of(recording: Recording) -> list[Object]:
    return [
        body_of(registration)
        for registration in recording.resources
        if registration.type.startswith("kubernetes:")
        and registration.type != RELEASE
        and not registration.type.endswith(PATCH)
    ]


def named(body: Object) -> str:
    return f"{body['kind']} {body['metadata']['name']}"


def test_every_object_is_accepted(trial: Trial) -> None:
    assert trial.refused == {}
    assert len(trial.bodies) > 20


def test_kinds_of_others_come_with_the_release_that_knows_them(stack: str, trial: Trial) -> None:
    if trial.foreign:
        assert recording_of(stack).of_type(RELEASE)


def test_applying_all_of_it_again_is_accepted_too(trial: Trial) -> None:
    """As the next `pulumi up` does; an immutable field that differs by itself would show here."""
    refused = {named(body): trial.objects.apply(body) for body in trial.bodies}
    assert {name: reason for name, reason in refused.items() if reason} == {}


WRONG = [
    pytest.param("Deployment", ("spec", "replicsa"), 1, "not declared in schema", id="typo"),
    pytest.param(
        "Deployment",
        ("spec", "selector", "matchLabels", "x"),
        "y",
        "`selector` does not match template `labels`",
        id="a-selector-for-other-pods",
    ),
    pytest.param("Service", ("spec", "ports", 0, "port"), 0, "between 1 and 65535", id="port"),
    pytest.param("ConfigMap", ("metadata", "name"), "Pools", "lower case", id="name"),
]


@pytest.mark.parametrize(("kind", "place", "value", "says"), WRONG)
def test_the_server_notices(
    kind: str, place: tuple[str | int, ...], value: object, says: str, trial: Trial
) -> None:
    """What accepts everything proves nothing."""
    *sections, key = place
    body = next(body_of(r) for r in recording_of("kind").resources if r.inputs.get("kind") == kind)
    body["metadata"]["name"] += "-wrong"
    inner: Any = body
    for part in sections:
        inner = inner[part]
    inner[key] = value
    assert says in trial.objects.apply(body)


def test_every_kind_of_volume_is_accepted(stack: str, trial: Trial) -> None:
    volumes = [
        Volume(claim=kind, source=source, mount=f"/mnt/{kind}", folders=("data",))
        for kind, source in SOURCES.items()
    ]

    def program() -> None:
        args = SharedVolumesArgs(
            namespace=recording_of(stack).outputs["jobNamespace"],
            volumes=volumes,
            image="image:1",
            kubernetes=k8s.Provider("kube"),
            after=(),
        )
        SharedVolumes("trial", args)

    made = applied(record(program, project="p", stack="s", config={}), trial.objects)
    assert made.refused == {}
    assert len(made.bodies) == 3 + 4 + 4  # a class makes its volume by itself
    trial.bodies.extend(made.bodies)


def test_the_server_lets_a_stack_say_whether_a_volume_outlives_its_claim(
    trial: Trial, stack: str
) -> None:
    """The volume is its driver's, which has said otherwise, and stays so in all else."""
    for patch in (r for r in recording_of(stack).resources if r.type.endswith(PATCH)):
        body = body_of(patch)
        policy = body["spec"]["persistentVolumeReclaimPolicy"]
        spec = {
            "accessModes": ["ReadWriteMany"],
            "capacity": {"storage": "100Gi"},
            "csi": {"driver": "csi.example", "volumeHandle": "x"},
            "persistentVolumeReclaimPolicy": "Delete" if policy == "Retain" else "Retain",
        }
        made = {**body, "metadata": {"name": body["metadata"]["name"]}, "spec": spec}
        assert trial.objects.apply(made, manager="csi-provisioner") == ""
        trial.bodies.append(made)
        assert trial.objects.apply(body) == ""
        found = trial.objects.read(made)["spec"]
        assert found == found | spec | {"persistentVolumeReclaimPolicy": policy}


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_every_example_is_accepted_beside_it(file: Path, trial: Trial) -> None:
    for body in yaml.safe_load_all(file.read_text()):
        assert trial.objects.apply(body) == ""
        trial.bodies.append(body)


def test_all_of_it_goes_again_in_reverse_and_waits_for_nobody_who_may_be_gone(
    trial: Trial,
) -> None:
    """The last test of this file for a stack: nothing is there after it."""
    for body in reversed(trial.bodies):
        if reason := trial.objects.delete(body):
            trial.kept[named(body)] = reason
    assert trial.kept == {}
    assert waiting_for(trial) <= OF_KUBERNETES.keys()


def waiting_for(trial: Trial) -> set[str]:
    """Finalizers that are left when nothing changes any more."""
    deadline = time.monotonic() + GONE_SECONDS
    while True:
        left = {name for body in trial.bodies for name in trial.objects.finalizers(body)}
        if left <= OF_KUBERNETES.keys() or time.monotonic() > deadline:
            return left
        time.sleep(0.2)
