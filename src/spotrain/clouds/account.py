"""What an AWS account answers to a preflight: one value for each question, or why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass

from spotrain.clouds.answers import Answer


@dataclass(frozen=True)
class Identity:
    account: str
    arn: str


@dataclass(frozen=True)
class Quota:
    code: str
    name: str
    value: float
    """vCPUs."""


@dataclass(frozen=True)
class Subnet:
    id: str
    zone: str
    free_addresses: int


@dataclass(frozen=True, kw_only=True)
class Account:
    region: str
    cluster: str
    identity: Answer[Identity]
    quotas: Answer[tuple[Quota, ...]]
    """Of EC2; those that count vCPUs of instances are among them."""
    vcpus: Answer[Mapping[str, int]]
    """Instance type -> vCPUs, of the pools' types."""
    has_spot_role: Answer[bool]
    offerings: Answer[frozenset[tuple[str, str]]]
    """(instance type, zone), of the pools' types."""
    subnets: Answer[tuple[Subnet, ...]]
    """The private ones of the cluster's network."""
    images: Mapping[str, Answer[bool]]
    """Reference -> is it in its registry? Of those in ECR."""
