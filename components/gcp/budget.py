"""A monthly limit of which people are told; nothing is stopped."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp

from components.gcp.reference import Place

STEPS = (
    ("CURRENT_SPEND", 0.5),
    ("CURRENT_SPEND", 0.8),
    ("CURRENT_SPEND", 1.0),
    ("FORECASTED_SPEND", 1.0),
)
"""What is compared with the limit, and the share that makes a message."""


@dataclass(frozen=True, kw_only=True)
class BudgetShape:
    """What a stack file decides about the budget."""

    billing_account: str
    usd_per_month: float
    emails: tuple[str, ...]
    whole_project: bool
    """Else only what carries this stack's label."""


@dataclass(frozen=True, kw_only=True)
class BudgetArgs:
    shape: BudgetShape
    place: Place
    after: Sequence[pulumi.Resource]
    """The APIs of budgets and of messages."""


class Budget(pulumi.ComponentResource):
    """What is spent, before credits: they hide a mistake until they are used up."""

    def __init__(
        self, name: str, args: BudgetArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:gcp:Budget", name, {}, opts)
        after = pulumi.ResourceOptions(parent=self, depends_on=list(args.after))
        shape, b = args.shape, gcp.billing
        channels = [
            gcp.monitoring.NotificationChannel(
                f"{name}-{email}", type="email", labels={"email_address": email}, opts=after
            )
            for email in shape.emails
        ]
        dollars, cents = divmod(round(shape.usd_per_month * 100), 100)
        b.Budget(
            f"{name}-monthly",
            billing_account=shape.billing_account,
            display_name=f"spotrain {args.place.labels['stack']}",
            budget_filter=b.BudgetBudgetFilterArgs(
                projects=[pulumi.Output.concat("projects/", args.place.number)],
                labels=None if shape.whole_project else {"stack": args.place.labels["stack"]},
                calendar_period="MONTH",
                credit_types_treatment="EXCLUDE_ALL_CREDITS",
            ),
            amount=b.BudgetAmountArgs(
                specified_amount=b.BudgetAmountSpecifiedAmountArgs(
                    currency_code="USD", units=str(dollars), nanos=cents * 10_000_000
                )
            ),
            threshold_rules=[
                b.BudgetThresholdRuleArgs(threshold_percent=share, spend_basis=basis)
                for basis, share in STEPS
            ],
            all_updates_rule=b.BudgetAllUpdatesRuleArgs(
                monitoring_notification_channels=[channel.id for channel in channels],
                disable_default_iam_recipients=True,
            ),
            opts=after,
        )
        self.register_outputs({})
