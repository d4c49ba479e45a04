"""The budget, as a component by itself."""

from collections.abc import Mapping
from typing import Any

import pytest

from components.aws.watch.budget import Budget, BudgetArgs, BudgetShape
from stacks.aws import rules
from stacks.aws.build import aws_args
from stacks.aws.schema import AwsSettings
from stacks.schema import parse
from stacks.stack_file import read_config

BUDGET = "aws:budgets/budget:Budget"


def budget(build: Any, tags: Mapping[str, str], find: Any, **changed: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "usd_per_month": 1_000_000.5,
        "emails": ("ada@example.com", "eve@example.com"),
        "whole_account": True,
    }
    args = BudgetArgs(shape=BudgetShape(**{**given, **changed}), tags=tags)
    made: dict[str, Any] = find.one(build(lambda: Budget("budget", args)), BUDGET).inputs
    return made


def test_everybody_is_told_at_half_at_four_fifths_at_the_limit_and_before_it_is_passed(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    told = budget(build, tags, find)["notifications"]
    assert [(each["notificationType"], each["threshold"]) for each in told] == [
        ("ACTUAL", 50),
        ("ACTUAL", 80),
        ("ACTUAL", 100),
        ("FORECASTED", 100),
    ]
    for each in told:
        assert each["comparisonOperator"] == "GREATER_THAN"
        assert each["thresholdType"] == "PERCENTAGE"
        assert each["subscriberEmailAddresses"] == ["ada@example.com", "eve@example.com"]


def test_the_limit_is_a_number_of_dollars_a_month(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    made = budget(build, tags, find)
    assert (made["limitAmount"], made["limitUnit"]) == ("1000000.50", "USD")
    assert (made["budgetType"], made["timeUnit"]) == ("COST", "MONTHLY")


def test_credits_do_not_hide_what_is_spent(build: Any, tags: Mapping[str, str], find: Any) -> None:
    counted = budget(build, tags, find)["costTypes"]
    assert counted["includeCredit"] is counted["includeRefund"] is False


def test_a_budget_of_the_account_counts_everything(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    assert budget(build, tags, find).get("costFilters", []) == []


def test_a_budget_of_the_stack_counts_what_carries_its_tag(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    made = budget(build, tags, find, whole_account=False)
    assert made["costFilters"] == [{"name": "TagKeyValue", "values": ["user:stack$test"]}]


def test_a_stack_file_says_whether_there_is_a_budget_and_of_what(tags: Mapping[str, str]) -> None:
    shapes = []
    asked = {"usd_per_month": 2000, "emails": ["ada@example.com"]}
    for given in (None, asked, {**asked, "scope": "stack"}):
        settings = parse({**read_config("dev")["settings"], "budget": given}, source="dev")
        assert isinstance(settings, AwsSettings)
        shapes.append(aws_args(settings, tags).budget)
    account = BudgetShape(usd_per_month=2000, emails=("ada@example.com",), whole_account=True)
    stack = BudgetShape(usd_per_month=2000, emails=("ada@example.com",), whole_account=False)
    assert shapes == [None, account, stack]


@pytest.mark.parametrize(
    ("address", "warned"),
    [
        ("ml-team@example.com", True),
        ("ada@mail.example.org", True),
        ("ada@corp.test", True),
        ("ada@examples.com", False),
        ("example@company.com", False),
    ],
)
def test_an_address_of_an_example_is_warned_about(address: str, warned: bool) -> None:
    given = {
        **read_config("dev")["settings"],
        "budget": {"usd_per_month": 5, "emails": [address]},
        "observability": {"metrics": True, "notify": [address]},
    }
    settings = parse(given, source="dev")
    assert isinstance(settings, AwsSettings)
    said = [text for text in rules.warnings(settings) if "is an example" in text]
    assert [text.split(":")[0] for text in said] == (
        ["observability.notify", "budget.emails"] if warned else []
    )
