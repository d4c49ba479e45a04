"""Checks of the cloud account: who asks, and what the account may have where the pools want it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Final

from spotrain import contract
from spotrain.clouds.account import Account
from spotrain.clouds.answers import Refused
from spotrain.doctor.answered import check_image, check_sold, told
from spotrain.doctor.finding import Finding, fail, passed, warn
from spotrain.doctor.vcpus import check_managers, check_quotas
from spotrain.job import Pool

LOG_IN: Final = "aws sso login, or set AWS_PROFILE"
_ask: Final = partial(told, cloud="AWS", naming="--cluster")


def check_account(
    account: Account, pools: Sequence[Pool], managers: Mapping[str, int] = MappingProxyType({})
) -> Iterator[Finding]:
    """Everything that an account can be asked. Nobody logged in: that alone is told.

    `managers`: instance type -> how many there are.
    """
    rented = [pool for pool in pools if pool.instance_types]
    yield _identity(account)
    if isinstance(account.identity, Refused) and account.identity.is_logged_out:
        return
    yield from _ask(
        "vCPU quotas",
        account.quotas,
        "servicequotas:ListServiceQuotas",
        lambda quotas: _ask(
            "vCPU quotas",
            account.vcpus,
            "ec2:DescribeInstanceTypes",
            lambda vcpus: chain(
                check_quotas(quotas, vcpus, rented, region=account.region),
                check_managers(quotas, vcpus, managers, region=account.region),
            ),
        ),
    )
    if any(pool.capacity == contract.CAPACITY_SPOT for pool in rented):
        yield from _ask("spot role", account.has_spot_role, "iam:GetRole", _spot_role)
    yield from _ask(
        "instance types",
        account.offerings,
        "ec2:DescribeInstanceTypeOfferings",
        lambda offered: _offerings(offered, rented),
    )
    yield from _ask(
        "subnets",
        account.subnets,
        "eks:DescribeCluster and ec2:DescribeSubnets",
        lambda subnets: _subnets({each.zone: each.free_addresses for each in subnets}, rented),
    )
    for reference, answer in account.images.items():
        yield from _ask("image", answer, "ecr:DescribeImages", partial(check_image, reference))


def _identity(account: Account) -> Finding:
    answer = account.identity
    if isinstance(answer, Refused):
        said = f"AWS does not know you: {answer.code}: {answer.message.rstrip('.')}."
        return fail("cloud credentials", said, LOG_IN)
    said = f"{answer.arn} in account {answer.account}, region {account.region}."
    return passed("cloud credentials", said)


def _spot_role(there: bool) -> Iterator[Finding]:
    if there:
        yield passed("spot role", "the account has AWSServiceRoleForEC2Spot.")
    else:
        yield fail(
            "spot role",
            "the account has no AWSServiceRoleForEC2Spot: no spot node can be had.",
            "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com",
        )


def _offerings(offered: frozenset[tuple[str, str]], pools: Sequence[Pool]) -> Iterator[Finding]:
    for pool in pools:
        for zone in pool.zones:
            missing = [each for each in pool.instance_types if (each, zone) not in offered]
            check = f"instance types of {pool.name}, {zone}"
            yield check_sold(check, zone, missing, of=len(pool.instance_types))


def _subnets(free: dict[str, int], pools: Sequence[Pool]) -> Iterator[Finding]:
    """Addresses for the nodes that the pools may have in a zone, as the CNI takes them."""
    for zone in sorted({zone for pool in pools for zone in pool.zones}):
        nodes = sum(pool.max_nodes for pool in pools if zone in pool.zones)
        needed, check = nodes * contract.ADDRESSES_PER_NODE, f"addresses in {zone}"
        if zone not in free:
            yield fail(check, "the cluster has no private subnet there.", "pulumi up")
            continue
        room = free[zone] // contract.ADDRESSES_PER_NODE
        said = f"{free[zone]} are free, for {room} of at most {nodes} nodes."
        if free[zone] >= needed:
            yield passed(check, said)
        elif room:
            yield warn(check, said, "nodes that run count too; a larger network.cidr has more")
        else:
            yield fail(check, said, "give the stack a larger network.cidr, or fewer max_nodes")
