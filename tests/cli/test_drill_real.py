"""A drill that a cloud carries out, before it begins: what a dry run shows, and what is refused."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import boto3  # type: ignore[import-untyped]
import pytest
from moto import mock_aws
from rich.console import Console

from spotrain.cli.cluster import Cluster
from spotrain.cli.drill_cluster import InCluster
from spotrain.cli.drill_real import ByCloud
from spotrain.cli.drill_view import draw_plan
from spotrain.cli.errors import NO_CLUSTER, UserError
from spotrain.clouds import gcp_interruption
from spotrain.kinds import Kind, Object
from spotrain.local.interruptions import Manner
from tests.cli.test_drill import PODS, seen, world
from tests.clouds.google_server import GoogleServer, google_server

ROLE = "arn:aws:iam::123456789012:role/drill"
GOOGLE = "gce://my-project/us-central1-a/gke-dev-t4-spot-x1"
GOOGLE_PATH = (
    "compute/compute/v1/projects/my-project/zones/us-central1-a/instances/gke-dev-t4-spot-x1"
)


@dataclass
class OneNode:
    """A cluster as far as a plan reads it: the job's pods, and under each node one machine."""

    provider_id: str

    def list_all(self, _kind: Kind, **_: Any) -> list[Object]:
        return PODS

    def get(self, _kind: Kind, name: str, *, namespace: str) -> Object:
        assert namespace == ""
        return {"metadata": {"name": name}, "spec": {"providerID": self.provider_id}}


def dry_run(provider_id: str, role: str | None = None) -> str:
    """The newest worker's node is taken, since none is named."""
    ground = ByCloud(InCluster(cast(Cluster, OneNode(provider_id))), role)
    plan = [ground.plan(Manner.NOTICE, seen(world()), None)]
    console = Console(width=200, color_system=None)
    with console.capture() as drawn:
        console.print(draw_plan(plan))
    return drawn.get()


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[GoogleServer]:
    with google_server() as server:
        monkeypatch.setattr(gcp_interruption, "connect", server.client)
        yield server


@pytest.fixture
def ec2(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        yield boto3.client("ec2", "us-east-1")


def machine_of(ec2: Any, **how: Any) -> str:
    image = ec2.describe_images()["Images"][0]["ImageId"]
    made = ec2.run_instances(ImageId=image, MinCount=1, MaxCount=1, **how)
    return f"aws:///us-east-1a/{made['Instances'][0]['InstanceId']}"


def test_on_google_cloud_the_machine_and_the_call_are_named_and_nothing_is_asked_for(
    google: GoogleServer,
) -> None:
    machine = {"status": "RUNNING", "scheduling": {"provisioningModel": "SPOT"}}
    google.answers = {GOOGLE_PATH: (200, machine)}
    assert dry_run(GOOGLE).splitlines() == [
        "notice: lets Google Cloud take back gke-dev-t4-spot-x1 under n1, and digits-worker-1, "
        "digits-worker-2 with it",
        f"  compute.instances.simulateMaintenanceEvent: {GOOGLE}",
    ]
    assert google.paths == [GOOGLE_PATH]


def test_on_aws_the_instance_and_the_experiment_are_named(ec2: Any) -> None:
    provider_id = machine_of(ec2, InstanceMarketOptions={"MarketType": "spot"})
    instance = provider_id.rpartition("/")[2]
    assert dry_run(provider_id, ROLE).splitlines() == [
        f"notice: lets AWS take back {instance} under n1, and digits-worker-1, digits-worker-2 "
        "with it",
        "  aws fis create-experiment-template, start-experiment: "
        f"arn:aws:ec2:us-east-1:123456789012:instance/{instance}",
    ]


def test_a_machine_that_is_paid_in_full_is_refused_on_either_cloud(
    google: GoogleServer, ec2: Any
) -> None:
    machine = {"status": "RUNNING", "scheduling": {"provisioningModel": "STANDARD"}}
    google.answers = {GOOGLE_PATH: (200, machine)}
    for provider_id in (GOOGLE, machine_of(ec2)):
        with pytest.raises(UserError, match="no spot") as refused:
            dry_run(provider_id, ROLE)
        assert refused.value.exit_code == NO_CLUSTER


@pytest.mark.parametrize("role", [None, "", "drill"])
def test_aws_is_asked_for_nothing_without_a_role(role: str | None) -> None:
    with pytest.raises(UserError, match="needs the ARN of the role"):
        dry_run("aws:///us-east-1a/i-0123456789abcdef0", role)
