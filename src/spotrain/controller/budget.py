"""A job that has cost what it may is suspended, after its workers have saved.

It goes on when somebody raises its budget or takes it away, and not before: not when prices fall,
nor when what it has cost turns out to be a little less.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from spotrain.controller.accounts import rates, take_account
from spotrain.controller.conditions import fails, holds
from spotrain.controller.model import Observed
from spotrain.controller.status import BUDGET_EXCEEDED, Condition
from spotrain.job import ElasticJob
from spotrain.ledger.closing import usd_per_hour


@dataclass(frozen=True)
class Budget:
    exceeded: Condition
    is_new: bool = False
    look_again: datetime | None = None
    """When the budget will be used up, should nothing change."""

    @property
    def holds_back(self) -> bool:
        return self.exceeded.status == "True"


def check_budget(job: ElasticJob, observed: Observed, now: datetime) -> Budget:
    """Has the job cost what it may?"""
    most = job.budget.max_dollars
    known = observed.status.condition(BUDGET_EXCEEDED)
    if most is None:
        return Budget(fails(BUDGET_EXCEEDED, "NoBudget", "spec.budget.maxDollars sets no limit."))
    if known and known.status == "True" and observed.status.observed_generation == job.generation:
        return Budget(known)
    account = take_account(job, observed, observed.status, now).account
    usd = account.totals.estimated_usd if account.totals else 0.0
    if usd >= most:
        return Budget(holds(BUDGET_EXCEEDED, "BudgetExceeded", _message(job, usd)), is_new=True)
    rate = usd_per_hour(account.stays, rates(observed, now))
    hours = (most - usd) / rate if rate > 0 else None
    within = fails(BUDGET_EXCEEDED, "WithinBudget", f"spec.budget.maxDollars is {most:g}.")
    soon = hours is not None and hours < 24
    return Budget(within, look_again=now + timedelta(hours=hours) if hours and soon else None)


def _message(job: ElasticJob, usd: float) -> str:
    resume = " and set spec.suspend to false" if job.suspend else ""
    return (
        f"the job has cost about ${usd:.2f}, and spec.budget.maxDollars is "
        f"{job.budget.max_dollars:g}: its workers save and leave. To go on from there, raise "
        f"spec.budget.maxDollars{resume}."
    )
