"""What an AWS account answers to a preflight: one value for each question, or why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

LOGGED_OUT: Final = ("NoCredentials", "ExpiredToken", "InvalidClientTokenId", "NoProfile")
"""Codes, AWS's and ours, of those who are nobody to AWS."""


@dataclass(frozen=True)
class Refused:
    """A question that was not answered."""

    code: str
    """AWS's word: AccessDenied, ThrottlingException; Unreachable and NoCredentials are ours."""
    message: str

    @property
    def is_denied(self) -> bool:
        return "Denied" in self.code or "Unauthorized" in self.code or self.code == "AuthFailure"

    @property
    def is_logged_out(self) -> bool:
        return self.code in LOGGED_OUT

    @property
    def is_throttled(self) -> bool:
        return "Throttl" in self.code or self.code in ("RequestLimitExceeded", "TooManyRequests")


T = TypeVar("T")
Answer: TypeAlias = T | Refused


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
