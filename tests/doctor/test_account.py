"""Each answer of a cloud account, and what is made of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from spotrain import contract
from spotrain.clouds.account import Account, Quota, Subnet
from spotrain.clouds.answers import Refused
from spotrain.doctor import Finding, Verdict, gravest
from spotrain.doctor.account import check_account
from spotrain.doctor.vcpus import managers_of
from spotrain.job import Pool
from spotrain.quotas.aws import families, find_quota
from tests.doctor.answers import (
    DENIED,
    DIGEST,
    LOGGED_OUT,
    ON_DEMAND_G,
    ON_DEMAND_P,
    QUOTAS,
    REGISTRY,
    SPOT_G,
    SPOT_INF,
    SPOT_P,
    SPOT_P5,
    SPOT_STANDARD,
    THROTTLED,
    TYPES,
    VCPUS,
    ZONES,
    account,
    pool,
)


def found(answers: Account, *pools: Pool) -> list[Finding]:
    return list(check_account(answers, pools or (pool(),)))


def problems(findings: Sequence[Finding]) -> list[tuple[str, str]]:
    return [(f.check, str(f.verdict)) for f in findings if f.verdict is not Verdict.passed]


def with_quota(quota: Quota, value: float) -> tuple[Quota, ...]:
    return tuple(replace(each, value=value) if each == quota else each for each in QUOTAS)


def test_an_account_that_has_all_passes_every_check() -> None:
    findings = found(account())
    assert problems(findings) == []
    assert len(findings) == 8
    assert all(finding.fix == "" for finding in findings)


QUOTA = "quota All G and VT Spot Instance Requests"
ROWS: dict[str, tuple[dict[str, Any], list[tuple[str, str]], str]] = {
    "nobody is logged in": (
        {"identity": LOGGED_OUT},
        [("cloud credentials", "fail")],
        "aws sso login, or set AWS_PROFILE",
    ),
    "quota none": (
        {"quotas": with_quota(SPOT_G, 0)},
        [(QUOTA, "fail")],
        "aws service-quotas request-service-quota-increase --service-code ec2 --region us-east-1 "
        "--quota-code L-3819A6DF --desired-value 64",
    ),
    "quota below the smallest node": ({"quotas": with_quota(SPOT_G, 3)}, [(QUOTA, "fail")], "64"),
    "quota of one small node": ({"quotas": with_quota(SPOT_G, 4)}, [(QUOTA, "warn")], "64"),
    "quota one short": ({"quotas": with_quota(SPOT_G, 63)}, [(QUOTA, "warn")], "L-3819A6DF"),
    "quotas denied": (
        {"quotas": DENIED},
        [("vCPU quotas", "warn")],
        "ask for servicequotas:ListServiceQuotas",
    ),
    "quotas throttled": ({"quotas": THROTTLED}, [("vCPU quotas", "warn")], "try again in a minute"),
    "types denied": ({"vcpus": DENIED}, [("vCPU quotas", "warn")], "ec2:DescribeInstanceTypes"),
    "type unknown": ({"vcpus": {}}, [(QUOTA, "warn")], "correct them"),
    "no such quota": ({"quotas": ()}, [("quota of t4-spot", "warn")], "Service Quotas console"),
    "no spot role": (
        {"has_spot_role": False},
        [("spot role", "fail")],
        "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com",
    ),
    "spot role denied": ({"has_spot_role": DENIED}, [("spot role", "warn")], "iam:GetRole"),
    "a zone that sells none": (
        {"offerings": frozenset((each, ZONES[0]) for each in TYPES)},
        [("instance types of t4-spot, us-east-1b", "fail")],
        "take us-east-1b out",
    ),
    "a zone that sells some": (
        {"offerings": frozenset({(TYPES[0], ZONES[0]), *((t, ZONES[1]) for t in TYPES)})},
        [("instance types of t4-spot, us-east-1a", "warn")],
        "name others",
    ),
    "a subnet that is full": (
        {"subnets": (Subnet("a", ZONES[0], 23), Subnet("b", ZONES[1], 500))},
        [("addresses in us-east-1a", "fail")],
        "network.cidr",
    ),
    "a subnet with too little": (
        {"subnets": (Subnet("a", ZONES[0], 4 * 24 - 1), Subnet("b", ZONES[1], 4 * 24))},
        [("addresses in us-east-1a", "warn")],
        "network.cidr",
    ),
    "no subnet": (
        {"subnets": (Subnet("b", ZONES[1], 500),)},
        [("addresses in us-east-1a", "fail")],
        "pulumi up",
    ),
    "cluster unknown": (
        {"subnets": Refused("ResourceNotFoundException", "No cluster found for name: dev.")},
        [("subnets", "warn")],
        "--cluster",
    ),
    "image gone": ({"images": {f"{REGISTRY}@{DIGEST}": False}}, [("image", "fail")], "pulumi up"),
    "image by tag": ({"images": {f"{REGISTRY}:v3": True}}, [("image", "warn")], "digest"),
    "two at once": (
        {"has_spot_role": False, "quotas": with_quota(SPOT_G, 0)},
        [(QUOTA, "fail"), ("spot role", "fail")],
        "create-service-linked-role",
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_what_an_account_lacks_is_told_with_the_fix(row: str) -> None:
    changed, expected, fix = ROWS[row]
    findings = found(account(**changed))
    assert problems(findings) == expected
    assert fix in " ".join(finding.fix for finding in findings)
    told = [f for f in findings if f.verdict is not Verdict.passed]
    assert all(f.fix and f.said.endswith(".") for f in told)


def test_who_is_nobody_is_told_that_alone() -> None:
    assert [finding.check for finding in found(account(identity=LOGGED_OUT))] == [
        "cloud credentials"
    ]


def test_a_quota_at_the_very_limit_passes() -> None:
    """Two zones of four nodes of at most 8 vCPUs."""
    (quota,) = (f for f in found(account(quotas=with_quota(SPOT_G, 64))) if f.check == QUOTA)
    assert (quota.verdict, quota.said) == (Verdict.passed, "64 vCPUs; t4-spot may want 64.")


def test_pools_of_one_family_draw_on_one_quota() -> None:
    twin = pool("t4-twin", max_nodes=1)
    (quota,) = (f for f in found(account(), pool(), twin) if f.check == QUOTA)
    assert (quota.verdict, quota.said) == (
        Verdict.warn,
        "64 vCPUs; t4-spot, t4-twin may want 80.",
    )


def test_an_on_demand_pool_draws_on_its_own_quota_and_needs_no_spot_role() -> None:
    findings = found(account(has_spot_role=False), pool(capacity="on-demand"))
    assert problems(findings) == [("quota Running On-Demand G and VT instances", "fail")]


def test_a_pool_that_nobody_rents_asks_nothing_of_the_account() -> None:
    findings = found(account(has_spot_role=True), pool(instance_types=(), capacity="on-demand"))
    assert [f.check for f in findings] == ["cloud credentials", "image"]


@pytest.mark.parametrize(
    ("capacity", "instance_type", "quota"),
    [
        ("spot", "g4dn.xlarge", SPOT_G),
        ("spot", "g6e.12xlarge", SPOT_G),
        ("spot", "gr6.4xlarge", SPOT_G),
        ("spot", "p3.2xlarge", SPOT_P),
        ("spot", "p4de.24xlarge", SPOT_P),
        ("spot", "p5en.48xlarge", SPOT_P5),
        ("spot", "m7i.large", SPOT_STANDARD),
        ("spot", "inf2.xlarge", SPOT_INF),
        ("on-demand", "g5.xlarge", ON_DEMAND_G),
        ("on-demand", "p5.48xlarge", ON_DEMAND_P),
        ("spot", "x2idn.16xlarge", None),
    ],
)
def test_a_type_draws_on_the_quota_that_names_it(
    capacity: str, instance_type: str, quota: Quota | None
) -> None:
    assert find_quota(QUOTAS, capacity, instance_type) == quota


def test_families_are_read_from_every_kind_of_name() -> None:
    assert families("G and VT") == ["G", "VT"]
    assert families("P4, P3 and P2") == ["P4", "P3", "P2"]
    assert families("Standard (A, C, D)") == ["A", "C", "D"]


def test_the_gravest_finding_is_the_verdict() -> None:
    assert gravest(found(account())) is Verdict.passed
    assert gravest(found(account(quotas=DENIED))) is Verdict.warn
    assert gravest(found(account(quotas=DENIED, has_spot_role=False))) is Verdict.fail


ON_DEMAND_STANDARD = Quota(
    "L-1216C47A", "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", 12
)


@pytest.mark.parametrize(("nodes", "verdict"), [(2, "pass"), (3, "warn")])
def test_the_managers_quota_has_room_for_those_that_an_update_starts_beside_them(
    nodes: int, verdict: str
) -> None:
    """Of 2 vCPUs each, up to two more in each of their two zones."""
    answers = account(quotas=(*QUOTAS, ON_DEMAND_STANDARD), vcpus={**VCPUS, "m7i-flex.large": 2})
    told = list(check_account(answers, [pool()], {"m7i-flex.large": nodes}))
    (finding,) = (each for each in told if each.check == "quota of the managers")
    assert str(finding.verdict) == verdict
    assert ("--quota-code L-1216C47A --desired-value 14" in finding.fix) == (verdict == "warn")


@pytest.mark.parametrize(("vcpus", "verdict"), [(22, "pass"), (21, "warn")])
def test_managers_of_two_types_draw_on_one_quota_together(vcpus: int, verdict: str) -> None:
    """One of 2 vCPUs and one of 4, and up to four more of 4."""
    types = {"m7i-flex.large": 2, "m7i.xlarge": 4}
    quota = replace(ON_DEMAND_STANDARD, value=vcpus)
    answers = account(quotas=(*QUOTAS, quota), vcpus={**VCPUS, **types})
    told = list(check_account(answers, [pool()], dict.fromkeys(types, 1)))
    (finding,) = (each for each in told if each.check == "quota of the managers")
    assert str(finding.verdict) == verdict
    assert ("--desired-value 22" in finding.fix) == (verdict == "warn")


def test_managers_are_known_by_their_role_and_type() -> None:
    labels = {contract.LABEL_ROLE: contract.ROLE_MANAGER, contract.LABEL_INSTANCE_TYPE: "m7i.large"}
    nodes: list[dict[str, Any]] = [
        {"metadata": {"name": "a", "labels": labels}},
        {"metadata": {"name": "b", "labels": labels}},
        {"metadata": {"name": "gpu", "labels": {contract.LABEL_ROLE: contract.ROLE_WORKER}}},
        {"metadata": {"name": "bare"}},
    ]
    assert managers_of(nodes) == {"m7i.large": 2}
