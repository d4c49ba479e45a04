"""What the parts of a stack file must be to each other; pure, one rule a function."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from spotrain import contract
from stacks.aws import addon_rules, manager_room, network_rules, pool_rules, storage_rules
from stacks.aws.arns import SSO_ROLE, role_command
from stacks.aws.services import service_catalog
from stacks.cloud_rules import (
    images_are_built_or_named,
    manager_is_known,
    managers_are_in_their_limits,
    named_once,
    principals,
)
from stacks.messages import example_addresses
from stacks.problems import Problem, every

if TYPE_CHECKING:
    from stacks.aws.schema import AwsSettings


def problems(settings: "AwsSettings") -> Iterator[Problem]:
    """Everything wrong between the fields; what is wrong with one by itself is told already."""
    yield from every(RULES, settings)


def warnings(settings: "AwsSettings") -> list[str]:
    """What works but will disappoint."""
    return [
        *network_rules.warnings(settings),
        *manager_room.warnings(settings),
        *pool_rules.warnings(settings),
        *storage_rules.warnings(settings),
        *messages_reach_nobody(settings),
    ]


def people_are_named_once(settings: "AwsSettings") -> Iterator[Problem]:
    reason = "EKS has one access entry for each, and a researcher who is an admin is one"
    yield from named_once(settings.cluster, what="role or user", reason=reason)


def sso_roles_have_their_path(settings: "AwsSettings") -> Iterator[Problem]:
    for path, principal in principals(settings.cluster):
        if f":role/{SSO_ROLE}" in principal:
            yield Problem(
                path=path,
                value=principal,
                rule=f"the whole ARN: .../role/aws-reserved/sso.amazonaws.com/.../{SSO_ROLE}...",
                reason="`aws sts get-caller-identity` leaves the path out, and EKS refuses a role "
                "that IAM does not know by this ARN",
                next_step=f"copy what {role_command(principal.split('/')[-1])} prints",
            )


def managers_are_of_known_types(settings: "AwsSettings") -> Iterator[Problem]:
    table = "stacks/aws/services.yaml"
    for index, name in enumerate(settings.managers.instance_types):
        path, known = f"managers.instance_types[{index}]", service_catalog().managers
        yield from manager_is_known(path, name, known, kind="an instance type", table=table)


def somebody_decides_on_messages(settings: "AwsSettings") -> Iterator[Problem]:
    observability = settings.observability
    if observability.notify and not observability.metrics:
        yield Problem(
            path="observability.notify",
            value=", ".join(observability.notify),
            rule="nobody, unless observability.metrics is true",
            reason="Alertmanager decides on messages, and it comes with the metrics",
            next_step="set observability.metrics to true, or remove observability.notify",
        )


def drills_need_spot_nodes(settings: "AwsSettings") -> Iterator[Problem]:
    is_spot = [pool.capacity == contract.CAPACITY_SPOT for pool in settings.pools]
    if settings.drills and not any(is_spot):
        yield Problem(
            path="drills",
            value="true",
            rule="false, where no pool is spot",
            reason="AWS takes back spot nodes only, and a role for none of them cannot be written",
            next_step="remove drills, or set capacity: spot for a pool",
        )


def messages_reach_nobody(settings: "AwsSettings") -> Iterator[str]:
    """Addresses that are reserved for examples."""
    told = {"observability.notify": settings.observability.notify}
    if settings.budget:
        told["budget.emails"] = settings.budget.emails
    yield from example_addresses(told)


RULES = (
    network_rules.problems,
    people_are_named_once,
    managers_are_in_their_limits,
    images_are_built_or_named,
    sso_roles_have_their_path,
    addon_rules.problems,
    managers_are_of_known_types,
    pool_rules.problems,
    storage_rules.problems,
    somebody_decides_on_messages,
    drills_need_spot_nodes,
)
