"""What a preflight asks of AWS: real calls against moto, and refusals as botocore raises them."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest
from botocore.stub import Stubber  # type: ignore[import-untyped]
from moto import mock_aws

from spotrain.clouds.account import Account, Quota, Subnet
from spotrain.clouds.answers import Refused
from spotrain.clouds.aws_account import SPOT_ROLE, Clients, ask_account, clients
from tests.clouds.logged_out import log_out

REGION, CLUSTER = "us-east-1", "dev"
TYPES = ("g4dn.xlarge", "g4dn.2xlarge")
DIGEST = "sha256:" + "1" * 64
REPOSITORY = "123456789012.dkr.ecr.us-east-1.amazonaws.com/spotrain/training"


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made up: nothing here may reach an account."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)


@pytest.fixture
def aws() -> Iterator[None]:
    with mock_aws():
        yield


def ask(*images: str) -> Account:
    """Without quotas: moto has none."""
    return quotas_of([], images=images)


def ask_with(client: Clients, *images: str) -> Account:
    return ask_account(client, region=REGION, cluster=CLUSTER, types=TYPES, images=images)


def make_network() -> tuple[str, str]:
    """A network of one private and one public subnet: its id, and the private one's."""
    ec2 = boto3.client("ec2", REGION)
    network = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    made = [
        ec2.create_subnet(VpcId=network, CidrBlock=f"10.0.{i}.0/24", AvailabilityZone=f"{REGION}a")
        for i in range(2)
    ]
    private, public = (each["Subnet"]["SubnetId"] for each in made)
    for subnet, role in ((private, "internal-elb"), (public, "elb")):
        tag = {"Key": f"kubernetes.io/role/{role}", "Value": "1"}
        ec2.create_tags(Resources=[subnet], Tags=[tag])
    return network, private


def test_who_is_logged_in_is_told(aws: None) -> None:
    identity = ask().identity
    assert not isinstance(identity, Refused)
    assert identity.account == "123456789012"


def test_types_are_asked_for_their_size_and_their_zones(aws: None) -> None:
    answers = ask()
    assert answers.vcpus == {"g4dn.xlarge": 4, "g4dn.2xlarge": 8}
    assert not isinstance(answers.offerings, Refused)
    assert {each for each, _ in answers.offerings} == set(TYPES)


def test_the_private_subnets_of_the_clusters_network_count(aws: None) -> None:
    network, private = make_network()
    eks = boto3.client("eks", region_name=REGION)
    with Stubber(eks) as answers:  # moto's clusters are in no network
        told = {"cluster": {"resourcesVpcConfig": {"vpcId": network}}}
        answers.add_response("describe_cluster", told, {"name": CLUSTER})
        found = quotas_of([], eks=eks).subnets
    assert found == (Subnet(private, f"{REGION}a", 251),)


def test_a_cluster_that_is_not_there_spoils_no_other_answer(aws: None) -> None:
    answers = ask()
    assert isinstance(answers.subnets, Refused)
    assert answers.subnets.code == "ResourceNotFoundException"
    assert answers.vcpus


def test_the_spot_role_is_there_or_not(aws: None) -> None:
    assert ask().has_spot_role is False
    boto3.client("iam", REGION).create_role(RoleName=SPOT_ROLE, AssumeRolePolicyDocument="{}")
    assert ask().has_spot_role is True


def test_an_image_is_looked_for_in_the_registry_that_it_names(aws: None) -> None:
    ecr = boto3.client("ecr", REGION)
    ecr.create_repository(repositoryName="spotrain/training")
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"digest": DIGEST},
        "layers": [],
    }
    ecr.put_image(
        repositoryName="spotrain/training", imageManifest=json.dumps(manifest), imageTag="v3"
    )
    elsewhere = "ghcr.io/team/train:v3", REPOSITORY.replace("us-east-1", "eu-west-1") + ":v3"
    unknown = REPOSITORY.replace("spotrain/training", "another") + ":v3"
    found = ask(f"{REPOSITORY}:v3", f"{REPOSITORY}@{DIGEST}", unknown, *elsewhere).images
    assert found == {f"{REPOSITORY}:v3": True, f"{REPOSITORY}@{DIGEST}": False, unknown: False}


def quotas_of(*pages: Any, images: Sequence[str] = (), **instead: Any) -> Account:
    """With what Service Quotas says, page by page; a code is a refusal. `instead`: clients of other
    services."""
    quotas = boto3.client("service-quotas", region_name=REGION)
    others = clients(REGION)
    with Stubber(quotas) as answers:
        for number, page in enumerate(pages):
            asked = {"ServiceCode": "ec2"} | ({"NextToken": f"page {number}"} if number else {})
            if isinstance(page, str):
                answers.add_client_error("list_service_quotas", page, expected_params=asked)
            else:
                more = {"NextToken": f"page {number + 1}"} if number + 1 < len(pages) else {}
                answers.add_response("list_service_quotas", {"Quotas": page, **more}, asked)
        made = {"service-quotas": quotas, **instead}
        return ask_with(lambda service: made.get(service) or others(service), *images)


def quota(name: str, value: float) -> dict[str, Any]:
    return {"QuotaCode": f"L-{len(name)}", "QuotaName": name, "Value": value}


def test_every_page_of_quotas_is_read(aws: None) -> None:
    spot, demand = "All G and VT Spot Instance Requests", "Running On-Demand G and VT instances"
    found = quotas_of([quota(spot, 64)], [], [quota(demand, 0)]).quotas
    assert found == (Quota("L-35", spot, 64), Quota("L-36", demand, 0))


def test_a_refused_answer_keeps_its_code(aws: None) -> None:
    denied = quotas_of("AccessDeniedException").quotas
    assert isinstance(denied, Refused)
    assert (denied.is_denied, denied.is_throttled) == (True, False)
    throttled = quotas_of([quota("one", 1)], "TooManyRequestsException").quotas
    assert isinstance(throttled, Refused)
    assert throttled.code == "TooManyRequestsException"


def test_who_has_no_credentials_is_asked_nothing_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    log_out(monkeypatch, tmp_path)
    asked: list[str] = []
    real = clients(REGION)

    def client(service: str) -> Any:
        asked.append(service)
        return real(service)

    identity = ask_with(client, f"{REPOSITORY}:v3").identity
    assert isinstance(identity, Refused)
    assert identity.is_logged_out
    assert asked == ["sts"]


def test_a_profile_that_is_not_there_is_an_answer_too() -> None:
    identity = ask_with(clients(REGION, profile="nowhere")).identity
    assert isinstance(identity, Refused)
    assert (identity.code, identity.is_logged_out) == ("NoProfile", True)
