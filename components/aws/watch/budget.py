"""A monthly limit of which people are told; nothing is stopped."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

STEPS = (("ACTUAL", 50), ("ACTUAL", 80), ("ACTUAL", 100), ("FORECASTED", 100))
"""What is compared with the limit, and the percentage that makes a message; AWS allows five."""


@dataclass(frozen=True, kw_only=True)
class BudgetShape:
    """What a stack file decides about the budget."""

    usd_per_month: float
    emails: tuple[str, ...]
    whole_account: bool
    """Else only what carries this stack's tag."""


@dataclass(frozen=True, kw_only=True)
class BudgetArgs:
    shape: BudgetShape
    tags: Mapping[str, str]


class Budget(pulumi.ComponentResource):
    """What is spent, before credits and refunds: they hide a mistake until they are used up."""

    def __init__(
        self, name: str, args: BudgetArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:Budget", name, {}, opts)
        aws.budgets.Budget(
            f"{name}-monthly",
            budget_type="COST",
            time_unit="MONTHLY",
            limit_amount=f"{args.shape.usd_per_month:.2f}",
            limit_unit="USD",
            cost_filters=_filters(args),
            cost_types=aws.budgets.BudgetCostTypesArgs(include_credit=False, include_refund=False),
            notifications=[
                aws.budgets.BudgetNotificationArgs(
                    notification_type=kind,
                    comparison_operator="GREATER_THAN",
                    threshold=percent,
                    threshold_type="PERCENTAGE",
                    subscriber_email_addresses=list(args.shape.emails),
                )
                for kind, percent in STEPS
            ],
            tags=dict(args.tags),
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({})


def _filters(args: BudgetArgs) -> list[aws.budgets.BudgetCostFilterArgs]:
    """AWS writes a tag of ours as user:<key>$<value>."""
    if args.shape.whole_account:
        return []
    value = f"user:stack${args.tags['stack']}"
    return [aws.budgets.BudgetCostFilterArgs(name="TagKeyValue", values=[value])]
