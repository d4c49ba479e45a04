"""A job that has cost what it may is suspended, after its workers have saved.

It goes on when somebody raises its budget or takes it away, and not before: not when prices fall,
nor when what it has cost turns out to be a little less.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from spotrain.controller.accounts import rates
from spotrain.controller.conditions import fails, holds
from spotrain.controller.model import Observed
from spotrain.controller.status import BUDGET_EXCEEDED, Condition
from spotrain.controller.stays import follow_stays
from spotrain.controller.suspend import resumption
from spotrain.job import ElasticJob
from spotrain.ledger.account import Account
from spotrain.ledger.closing import account_traffic, price_places, usd_per_hour


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
    usd, usd_per_hour = _spending(observed, now)
    if usd >= most:
        said = _message(job, observed, usd)
        return Budget(holds(BUDGET_EXCEEDED, "BudgetExceeded", said), is_new=True)
    within = fails(BUDGET_EXCEEDED, "WithinBudget", f"spec.budget.maxDollars is {most:g}.")
    if usd_per_hour <= most - usd:  # there is time for that: every job is looked at each minute
        return Budget(within)
    return Budget(within, look_again=now + timedelta(hours=(most - usd) / usd_per_hour))


def _spending(observed: Observed, now: datetime) -> tuple[float, float]:
    """What the job has cost, as its account will say at this look, and what it costs an hour."""
    account, rate = observed.status.ledger or Account(since=now), rates(observed, now)
    account = replace(account, stays=follow_stays(account.stays, observed, {}, now))
    traffic_usd = account_traffic(account).usd(observed.board.terms.storage)
    return (
        sum(place.estimated_usd for place in price_places(account, now, rate))
        + (traffic_usd or 0.0),
        usd_per_hour(account.stays, lambda place: rate(place)[0]),
    )


def _message(job: ElasticJob, observed: Observed, usd: float) -> str:
    return (
        f"the job has cost about ${usd:.2f}, and spec.budget.maxDollars is "
        f"{job.budget.max_dollars:g}: its workers save and leave. To go on from there: "
        f"{resumption(job, observed, '--budget', 'USD')}."
    )
