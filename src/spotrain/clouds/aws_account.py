"""The questions of a preflight to an AWS account, asked with the rights of whoever is logged in.

Only reading calls. Each answer stands for itself: a right that is missing spoils no other.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any, Final, TypeVar

import boto3  # type: ignore[import-untyped]
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.exceptions import (  # type: ignore[import-untyped]
    BotoCoreError,
    ClientError,
    ProfileNotFound,
)

from spotrain.clouds.account import Account, Identity, Quota, Subnet
from spotrain.clouds.answers import Answer, Refused
from spotrain.clouds.aws import LOGGED_OUT

SPOT_ROLE: Final = "AWSServiceRoleForEC2Spot"
ECR: Final = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(\.cn)?/"
    r"(?P<name>[^@:]+)(@(?P<digest>sha256:[0-9a-f]{64})|:(?P<tag>[^@]+))?"
)
PATIENCE: Final = Config(
    connect_timeout=5, read_timeout=15, retries={"mode": "standard", "total_max_attempts": 4}
)
"""A person waits for it: a throttled call gives up after some ten seconds."""
Clients = Callable[[str], Any]
"""Name of a service -> its client."""
T = TypeVar("T")


def clients(region: str, *, profile: str | None = None) -> Clients:
    """profile: of ~/.aws/config; None: the default, or what AWS_PROFILE names."""

    @cache  # made at the first question, whose answer then says what is wrong with the profile
    def session() -> Any:
        return boto3.Session(profile_name=profile)

    return lambda service: session().client(service, region_name=region, config=PATIENCE)


def ask_account(
    client: Clients,
    *,
    region: str,
    cluster: str,
    types: Sequence[str],
    images: Iterable[str],
) -> Account:
    """types: instance types of the pools. images: references; those in this region's ECR are asked
    for."""
    identity = _answer(lambda: _identity(client("sts")))
    if isinstance(identity, Refused) and identity.is_logged_out:
        return _nobody(identity, region=region, cluster=cluster)
    return Account(
        region=region,
        cluster=cluster,
        identity=identity,
        quotas=_answer(lambda: _quotas(client("service-quotas"))),
        vcpus=_answer(lambda: _vcpus(client("ec2"), types)),
        has_spot_role=_answer(lambda: _has_spot_role(client("iam"))),
        offerings=_answer(lambda: _offerings(client("ec2"), types)),
        subnets=_answer(lambda: _subnets(client("eks"), client("ec2"), cluster)),
        images={
            reference: _answer(partial(_is_there, client, found))
            for reference in images
            if (found := ECR.fullmatch(reference)) and found["region"] == region
        },
    )


def _nobody(refused: Refused, *, region: str, cluster: str) -> Account:
    """Without credentials nothing else need be asked, and waited for."""
    return Account(
        region=region,
        cluster=cluster,
        identity=refused,
        quotas=refused,
        vcpus=refused,
        has_spot_role=refused,
        offerings=refused,
        subnets=refused,
        images={},
    )


def _answer(ask: Callable[[], T]) -> Answer[T]:
    try:
        return ask()
    except ClientError as error:
        told = error.response.get("Error", {})
        return Refused(told.get("Code", "Unknown"), _line(told.get("Message") or str(error)))
    except LOGGED_OUT as error:
        return Refused("NoCredentials", _line(str(error)))
    except ProfileNotFound as error:
        return Refused("NoProfile", _line(str(error)))
    except BotoCoreError as error:
        return Refused("Unreachable", _line(str(error)))


def _identity(sts: Any) -> Identity:
    told = sts.get_caller_identity()
    return Identity(told["Account"], told["Arn"])


def _quotas(quotas: Any) -> tuple[Quota, ...]:
    """What holds for this account; AWS lists its defaults too where nothing was ever raised."""
    pages = quotas.get_paginator("list_service_quotas").paginate(ServiceCode="ec2")
    return tuple(
        Quota(each["QuotaCode"], each["QuotaName"], float(each["Value"]))
        for page in pages
        for each in page["Quotas"]
    )


def _vcpus(ec2: Any, types: Sequence[str]) -> dict[str, int]:
    if not types:
        return {}
    pages = ec2.get_paginator("describe_instance_types").paginate(
        Filters=[{"Name": "instance-type", "Values": sorted(types)}]
    )
    return {
        each["InstanceType"]: each["VCpuInfo"]["DefaultVCpus"]
        for page in pages
        for each in page["InstanceTypes"]
    }


def _has_spot_role(iam: Any) -> bool:
    try:
        iam.get_role(RoleName=SPOT_ROLE)
    except iam.exceptions.NoSuchEntityException:
        return False
    return True


def _offerings(ec2: Any, types: Sequence[str]) -> frozenset[tuple[str, str]]:
    if not types:
        return frozenset()
    pages = ec2.get_paginator("describe_instance_type_offerings").paginate(
        LocationType="availability-zone",
        Filters=[{"Name": "instance-type", "Values": sorted(types)}],
    )
    return frozenset(
        (each["InstanceType"], each["Location"])
        for page in pages
        for each in page["InstanceTypeOfferings"]
    )


def _subnets(eks: Any, ec2: Any, cluster: str) -> tuple[Subnet, ...]:
    """Nodes are in private subnets: those that are marked for internal load balancers."""
    network = eks.describe_cluster(name=cluster)["cluster"]["resourcesVpcConfig"]["vpcId"]
    pages = ec2.get_paginator("describe_subnets").paginate(
        Filters=[
            {"Name": "vpc-id", "Values": [network]},
            {"Name": "tag-key", "Values": ["kubernetes.io/role/internal-elb"]},
        ]
    )
    return tuple(
        Subnet(each["SubnetId"], each["AvailabilityZone"], each["AvailableIpAddressCount"])
        for page in pages
        for each in page["Subnets"]
    )


def _is_there(client: Clients, found: re.Match[str]) -> bool:
    ecr = client("ecr")
    digest, tag = found["digest"], found["tag"] or "latest"
    wanted = {"imageDigest": digest} if digest else {"imageTag": tag}
    try:
        ecr.describe_images(
            registryId=found["account"], repositoryName=found["name"], imageIds=[wanted]
        )
    except (
        ecr.exceptions.ImageNotFoundException,
        ecr.exceptions.RepositoryNotFoundException,
    ):
        return False
    return True


def _line(text: str) -> str:
    return " ".join(text.split())
