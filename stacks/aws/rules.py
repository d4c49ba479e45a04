"""What the parts of a stack file must be to each other; pure, one rule a function."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stacks.aws import network_rules, pool_rules
from stacks.aws.services import service_catalog
from stacks.problems import UNSET, Problem, suggestion

if TYPE_CHECKING:
    from stacks.aws.schema import AwsSettings


def problems(settings: "AwsSettings") -> Iterator[Problem]:
    """Everything wrong between the fields; each field by itself is right by now."""
    yield from network_rules.problems(settings)
    yield from managers_are_possible(settings)
    yield from pool_rules.problems(settings)
    yield from images_are_built_or_named(settings)


def warnings(settings: "AwsSettings") -> list[str]:
    """What works but will disappoint."""
    return [*network_rules.warnings(settings), *pool_rules.warnings(settings)]


def managers_are_possible(settings: "AwsSettings") -> Iterator[Problem]:
    managers = settings.managers
    if managers.min_nodes > managers.max_nodes:
        yield Problem(
            path="managers.min_nodes",
            value=managers.min_nodes,
            rule=f"at most managers.max_nodes, {managers.max_nodes}",
            reason="no group can hold more nodes than its limit",
            next_step="raise managers.max_nodes or lower managers.min_nodes",
        )
    known = service_catalog().managers
    for index, name in enumerate(managers.instance_types):
        if name not in known:
            yield Problem(
                path=f"managers.instance_types[{index}]",
                value=name,
                rule="an instance type under `managers` in stacks/aws/services.yaml",
                reason="the fixed cost of the stack cannot be told otherwise",
                next_step=f"{suggestion(name, known)}; or add it there with its price",
            )


def images_are_built_or_named(settings: "AwsSettings") -> Iterator[Problem]:
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
