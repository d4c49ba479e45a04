"""What the parts of a stack file must be to each other; pure, one rule a function."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stacks.gcp import network_rules, pool_rules
from stacks.gcp.services import service_catalog
from stacks.messages import example_addresses
from stacks.problems import UNSET, Problem, every, suggestion

if TYPE_CHECKING:
    from stacks.gcp.schema import GcpSettings

SMALLEST_GIB = {"basic-hdd": 100, "basic-ssd": 2560, "zonal": 1024, "regional": 1024}
"""Tier of Filestore -> the smallest instance; cloud.google.com/filestore/docs/service-tiers."""


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
    first: dict[str, str] = {}
    for path, principal in _principals(settings):
        if principal in first:
            yield Problem(
                path=path,
                value=principal,
                rule=f"each principal once; it is {first[principal]} already",
                reason="a researcher who is an admin has every right already",
                next_step="keep the one that you mean",
            )
        first.setdefault(principal, path)


def groups_have_a_domain(settings: "GcpSettings") -> Iterator[Problem]:
    for path, principal in _principals(settings):
        if principal.startswith("group:") and not settings.cluster.groups_domain:
            yield Problem(
                path=path,
                value=principal,
                rule="a group only with cluster.groups_domain",
                reason="a cluster knows the groups of one domain only, and no group without it",
                next_step="set cluster.groups_domain, or name the people one by one",
            )


def _principals(settings: "GcpSettings") -> Iterator[tuple[str, str]]:
    for field in ("admins", "researchers"):
        for index, principal in enumerate(getattr(settings.cluster, field)):
            yield f"cluster.{field}[{index}]", principal


def managers_are_in_their_limits(settings: "GcpSettings") -> Iterator[Problem]:
    managers = settings.managers
    if managers.min_nodes > managers.max_nodes:
        yield Problem(
            path="managers.min_nodes",
            value=managers.min_nodes,
            rule=f"at most managers.max_nodes, {managers.max_nodes}",
            reason="no group can hold more nodes than its limit",
            next_step="raise managers.max_nodes or lower managers.min_nodes",
        )


def managers_are_of_a_known_type(settings: "GcpSettings") -> Iterator[Problem]:
    known, name = service_catalog().managers, settings.managers.machine_type
    if name not in known:
        yield Problem(
            path="managers.machine_type",
            value=name,
            rule="a machine type under `managers` in stacks/gcp/services.yaml",
            reason="the fixed cost of the stack cannot be told otherwise",
            next_step=f"{suggestion(name, known)}; or add it there with its price",
        )


def file_system_is_large_enough(settings: "GcpSettings") -> Iterator[Problem]:
    storage, smallest = settings.storage, SMALLEST_GIB[settings.storage.tier]
    if storage.server is None and storage.size_gib < smallest:
        yield Problem(
            path="storage.size_gib",
            value=storage.size_gib,
            rule=f"at least {smallest} with storage.tier {storage.tier}",
            reason="Google makes no smaller one, and bills what is made",
            next_step=f"set storage.size_gib to {smallest}, or storage.tier to basic-hdd",
        )


def images_are_built_or_named(settings: "GcpSettings") -> Iterator[Problem]:
    images = settings.images
    for field in ("training", "controller"):
        given = getattr(images, field)
        if (given is None) == (not images.build):
            yield Problem(
                path=f"images.{field}",
                value=given or UNSET,
                rule="a reference with its digest when images.build is false, else nothing",
                reason="an image is either built here or named, never both",
                next_step=f"set images.build to true, or both images.{field} and its sibling to "
                "references with a digest and images.build to false",
            )


RULES = (
    network_rules.problems,
    people_are_named_once,
    groups_have_a_domain,
    managers_are_in_their_limits,
    managers_are_of_a_known_type,
    pool_rules.problems,
    file_system_is_large_enough,
    images_are_built_or_named,
)
