"""What the platform is handed of a cluster that exists, and what is left alone there."""

import copy
import subprocess
import sys
from typing import Any

import pytest
import yaml

from components.cloud import ClassVolume, Cloud, HostPathVolume, NfsVolume
from spotrain import contract
from spotrain.job import parse_job, parse_pools
from stacks import schema
from stacks.clouds import support
from stacks.preview import ROOT
from stacks.recorder import Recording
from stacks.stack_file import STACKS

SHIPPED: dict[str, Any] = yaml.safe_load((STACKS / "Pulumi.kind.yaml").read_text())["config"][
    "spotrain:settings"
]
GPUS: dict[str, Any] = {
    "name": "l4-spot",
    "gpu": "l4",
    "gpus_per_node": 2,
    "capacity": "spot",
    "zones": ["b", "a"],
    "max_nodes": 4,
    "notice_seconds": 25,
    "usd_per_hour": 0.5,
    "on_demand_usd_per_hour": 1.5,
}
RECORD = """\
import sys
from stacks.preview import ROOT, run_program
from stacks.stack_file import read_config
run_program(ROOT / "__main__.py", sys.argv[1], read_config(sys.argv[1]))
print(*sorted({name.partition(".")[0] for name in sys.modules}))
print(*sorted(name for name in sys.modules if name.startswith("components.")))
"""


@pytest.fixture
def stack() -> str:
    return "kind"


@pytest.fixture
def made(build: Any) -> Any:
    """The cloud that the shipped file, with these sections, hands to the platform."""

    def run(**sections: Any) -> tuple[Cloud, Recording]:
        settings = schema.parse({**copy.deepcopy(SHIPPED), **sections}, source="x")
        clouds: list[Cloud] = []
        recording = build(lambda: clouds.append(support("existing").build(settings, {})))
        return clouds[0], recording

    return run


def loaded_by(stack: str) -> tuple[set[str], set[str]]:
    """Packages, and modules of components/, that a preview of the stack has imported."""
    done = subprocess.run(
        [sys.executable, "-c", RECORD, stack], cwd=ROOT, capture_output=True, text=True, check=True
    )
    packages, components = done.stdout.splitlines()[-2:]
    return set(packages.split()), set(components.split())


def test_no_package_of_a_cloud_is_needed_for_a_cluster_that_exists() -> None:
    packages, components = loaded_by("kind")
    assert not packages & {"pulumi_aws", "pulumi_eks", "pulumi_docker_build", "boto3", "botocore"}
    assert not [name for name in components if name.startswith("components.aws")]


def test_aws_needs_nothing_of_a_cluster_that_exists() -> None:
    _, components = loaded_by("dev")
    assert not [name for name in components if name.startswith("components.existing")]


def test_the_state_holds_the_path_of_the_kubeconfig_and_nothing_of_it(
    recording: Recording, find: Any
) -> None:
    provider = find.one(recording, "pulumi:providers:kubernetes").inputs
    assert provider == {
        "kubeconfig": "~/.kube/config",
        "context": "kind-kind",
        "clusterIdentifier": "kind-kind",
        "enableServerSideApply": "true",
        "enableConfigMapMutable": "true",
    }


def test_everything_but_the_provider_is_the_platform(recording: Recording) -> None:
    packages = {resource.type.partition(":")[0] for resource in recording.resources}
    assert packages == {"kubernetes", "pulumi", "spotrain"}
    kinds = {r.type.rpartition(":")[2] for r in recording.resources}
    assert not kinds & {"DaemonSet", "StorageClass", "Node"}


@pytest.mark.parametrize(
    ("volume", "source"),
    [
        ({"nfs": {"server": "s", "path": "/p"}}, NfsVolume(server="s", path="/p")),
        ({"host_path": "/p"}, HostPathVolume(path="/p")),
        ({"storage_class": {"name": "c"}}, ClassVolume(storage_class="c", size_gib=100)),
    ],
)
def test_each_volume_is_handed_over_with_its_folders(
    made: Any, volume: dict[str, Any], source: object
) -> None:
    cloud, _ = made(volume=volume)
    (shared,) = cloud.volumes
    assert shared.source == source
    assert (shared.claim, shared.mount) == (contract.VOLUME_CLAIM, contract.VOLUME_MOUNT)
    assert shared.folders == (contract.DATA_DIR, contract.OUTPUT_DIR)


@pytest.mark.parametrize(
    ("volume", "source"),
    [
        ({"nfs": {"server": "s", "path": "/p/"}}, NfsVolume(server="s", path="/p-archive")),
        (
            {"nfs": {"server": "s", "path": "/p"}, "archive": "/q"},
            NfsVolume(server="s", path="/q"),
        ),
        ({"host_path": "/p"}, HostPathVolume(path="/p-archive")),
        ({"storage_class": {"name": "c"}}, ClassVolume(storage_class="c", size_gib=20)),
    ],
)
def test_what_the_archive_keeps_lies_beside_the_volume_and_never_in_it(
    made: Any, volume: dict[str, Any], source: object
) -> None:
    cloud, _ = made(volume=volume)
    assert cloud.archive.source == source
    assert cloud.archive.claim == contract.ARCHIVE_CLAIM


def test_the_cloud_promises_nothing_that_its_owner_has_to_know(made: Any) -> None:
    cloud, _ = made()
    assert cloud.ready == ()
    assert (cloud.metrics_disk, cloud.alert_receiver, cloud.prices) == (None, None, None)


def test_a_pool_is_offered_at_the_prices_of_the_file(made: Any) -> None:
    cloud, _ = made(pools=[GPUS])
    (pool,) = parse_pools(yaml.safe_dump([pool.document() for pool in cloud.pools]))
    assert (pool.usd_per_hour, pool.on_demand_usd_per_hour) == (0.5, 1.5)
    assert (pool.zones, pool.notice_seconds) == (("a", "b"), 25)


def test_an_on_demand_pool_has_one_price(made: Any) -> None:
    pool = {**GPUS, "capacity": "on-demand", "usd_per_hour": 1.5, "on_demand_usd_per_hour": 0}
    cloud, _ = made(pools=[pool])
    (read,) = parse_pools(yaml.safe_dump([pool.document() for pool in cloud.pools]))
    assert read.usd_per_hour == 1.5


def test_the_controller_can_read_what_the_shipped_stack_offers(
    recording: Recording, find: Any
) -> None:
    config = find.one(recording, "kubernetes:core/v1:ConfigMap", "elastic-jobs-pools").inputs
    (pool,) = parse_pools(config["data"][contract.POOLS_KEY])
    assert (pool.gpu, pool.gpus_per_node, pool.usd_per_hour) == (contract.NO_GPU, 0, 0)


def test_the_outputs_say_how_to_label_nodes_and_what_to_run(recording: Recording) -> None:
    assert recording.outputs["labelNodes"] == (
        "kubectl --context kind-kind label node <node> spotrain.dev/pool=cpu spotrain.dev/gpu=cpu "
        "spotrain.dev/capacity=on-demand spotrain.dev/role=worker topology.kubernetes.io/zone=local"
    )
    command = "kubectl --context kind-kind apply -f k8s/examples/digits-cpu.yaml"
    assert recording.outputs["next"] == command


def test_every_zone_of_a_pool_has_a_command(made: Any) -> None:
    cloud, _ = made(pools=[GPUS])
    commands = cloud.outputs["labelNodes"].splitlines()
    assert [command.rpartition("=")[2] for command in commands] == ["a", "b"]
    assert cloud.outputs["next"].endswith("k8s/examples/digits.yaml")


def test_the_example_is_what_the_shipped_stack_can_run(recording: Recording, find: Any) -> None:
    text = (ROOT / "k8s" / "examples" / "digits-cpu.yaml").read_text()
    job = parse_job(yaml.safe_load(text))
    (container,) = job.template["spec"]["containers"]
    assert (job.placement.gpu, job.gpus_per_worker) == (contract.NO_GPU, 0)
    assert container["image"] == recording.outputs["trainingImage"]
    assert job.namespace == recording.outputs["jobNamespace"]
