"""What the parts of a stack file must be to each other; pure, one rule a function."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stacks.cloud_rules import (
    images_are_built_or_named,
    manager_is_known,
    managers_are_in_their_limits,
    named_once,
    principals,
)
from stacks.gcp import network_rules, pool_rules
from stacks.gcp.services import service_catalog
from stacks.messages import example_addresses
from stacks.problems import Problem, every

if TYPE_CHECKING:
    from stacks.gcp.schema import GcpSettings

TIB = 1024
GROWING = (range(TIB, 10 * TIB, 256), range(10 * TIB, 100 * TIB + 1, 2560))
SIZES_GIB = {
    "basic-hdd": (range(100, 65_434),),
    "basic-ssd": (range(2560, 65_434),),
    "zonal": GROWING,
    "regional": GROWING,
}
"""Tier of Filestore -> the sizes that it is sold in; cloud.google.com/filestore/docs/service-tiers.
One that is made never passes from one range to the other."""


def problems(settings: "GcpSettings") -> Iterator[Problem]:
    """Everything wrong between the fields; what is wrong with one by itself is told already."""
    yield from every(RULES, settings)


def warnings(settings: "GcpSettings") -> list[str]:
    """What works but will disappoint."""
    emails = settings.budget.emails if settings.budget else ()
    return [
        *network_rules.warnings(settings),
        *pool_rules.warnings(settings),
        *example_addresses({"budget.emails": emails}),
    ]


def people_are_named_once(settings: "GcpSettings") -> Iterator[Problem]:
    reason = "a researcher who is an admin has every right already"
    yield from named_once(settings.cluster, what="principal", reason=reason)


def groups_have_a_domain(settings: "GcpSettings") -> Iterator[Problem]:
    for path, principal in principals(settings.cluster):
        if principal.startswith("group:") and not settings.cluster.groups_domain:
            yield Problem(
                path=path,
                value=principal,
                rule="a group only with cluster.groups_domain",
                reason="a cluster knows the groups of one domain only, and no group without it",
                next_step="set cluster.groups_domain, or name the people one by one",
            )


def managers_are_of_a_known_type(settings: "GcpSettings") -> Iterator[Problem]:
    known, name = service_catalog().managers, settings.managers.machine_type
    table = "stacks/gcp/services.yaml"
    yield from manager_is_known(
        "managers.machine_type", name, known, kind="a machine type", table=table
    )


def file_system_has_a_size_that_is_sold(settings: "GcpSettings") -> Iterator[Problem]:
    storage, sizes = settings.storage, SIZES_GIB[settings.storage.tier]
    if storage.server is not None or any(storage.size_gib in each for each in sizes):
        return
    sold = [f"{each[0]} to {each[-1]}" + _steps(each) for each in sizes]
    larger = next((gib for each in sizes for gib in each if gib >= storage.size_gib), sizes[-1][-1])
    yield Problem(
        path="storage.size_gib",
        value=storage.size_gib,
        rule=f"with storage.tier {storage.tier} {', or '.join(sold)}",
        reason="Google makes no other size, and bills what is made",
        next_step=f"set storage.size_gib to {larger}, or storage.tier to basic-hdd",
    )


def _steps(sizes: range) -> str:
    return f" in steps of {sizes.step}" if sizes.step > 1 else ""


RULES = (
    network_rules.problems,
    people_are_named_once,
    managers_are_in_their_limits,
    images_are_built_or_named,
    groups_have_a_domain,
    managers_are_of_a_known_type,
    pool_rules.problems,
    file_system_has_a_size_that_is_sold,
)
