"""EC2's quotas of vCPUs: how they are called, which types draw on which, and what asks for more.

AWS adds quotas with generations of instances, so an account's own are found by their names; KNOWN
are those that were there when it was written.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from spotrain import contract


class Named(Protocol):
    @property
    def name(self) -> str: ...


@dataclass(frozen=True)
class KnownQuota:
    code: str
    name: str
    new: int
    """vCPUs that a new account has in a region, by EC2's user guide (On-Demand and Spot Instance
    quotas, 2026); some have more."""


KNOWN: Final = (
    KnownQuota("L-3819A6DF", "All G and VT Spot Instance Requests", 0),
    KnownQuota("L-7212CCBC", "All P4, P3 and P2 Spot Instance Requests", 0),
    KnownQuota("L-C4BD4855", "All P5 Spot Instance Requests", 0),
    KnownQuota("L-DB2E81BA", "Running On-Demand G and VT instances", 0),
    KnownQuota("L-417A185B", "Running On-Demand P instances", 0),
    KnownQuota("L-1216C47A", "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", 5),
)
NAMES: Final = {
    contract.CAPACITY_SPOT: re.compile(r"All (?P<families>.+) Spot Instance Requests"),
    contract.CAPACITY_ON_DEMAND: re.compile(r"Running On-Demand (?P<families>.+) instances"),
}
"""How the quotas that count vCPUs are called: `All G and VT Spot Instance Requests`."""
MANAGER_ZONES: Final = 2
"""A stack's managers are in its first two zones."""
MORE_IN_A_ZONE: Final = 2
"""Nodes that EKS may start in each zone of a group, beside those that run, while it updates it (EKS
user guide, Understand each phase of node updates). GPU pools are updated the other way round: an
old node goes first."""
Quota = TypeVar("Quota", bound=Named)


def find_quota(quotas: Sequence[Quota], capacity: str, instance_type: str) -> Quota | None:
    """The quota on which a type draws: that of its very generation, else that of its family."""
    found = re.match(r"([a-z]+)(\d*)", instance_type)
    if found is None:
        return None
    letters = found[1].upper()
    names = [letters + found[2], letters, letters[0] + found[2], letters[0]]
    by_family = {
        family.upper(): quota
        for quota in quotas
        if (named := NAMES[capacity].fullmatch(quota.name))
        for family in families(named["families"])
    }
    return next((by_family[name] for name in names if name in by_family), None)


def families(text: str) -> list[str]:
    """`G and VT`, `P4, P3 and P2`, `Standard (A, C, D)` as lists."""
    inner = re.search(r"\((.*)\)", text)
    return re.findall(r"[A-Z][A-Za-z0-9]*", inner[1] if inner else text)


def managers_while_updated(nodes: int) -> int:
    return nodes + MANAGER_ZONES * MORE_IN_A_ZONE


def show_quotas(codes: Sequence[str], region: str) -> str:
    """The command that prints what an account has."""
    query = f"Quotas[?contains('{' '.join(codes)}', QuotaCode)].[QuotaCode,QuotaName,Value]"
    return (
        f"aws service-quotas list-service-quotas --service-code ec2 --region {region} "
        f'--query "{query}" --output table'
    )


def raise_quota(code: str, vcpus: int | str, region: str) -> str:
    """The command that asks AWS for so many vCPUs."""
    return (
        f"aws service-quotas request-service-quota-increase --service-code ec2 --region {region} "
        f"--quota-code {code} --desired-value {vcpus}"
    )
