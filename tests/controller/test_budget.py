"""A job that has cost what it may saves and is suspended, and goes on when it may cost more."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from spotrain.controller.board import Board
from spotrain.controller.model import Observed, TrafficView
from spotrain.controller.reconcile import reconcile
from spotrain.controller.status import JobStatus
from spotrain.job import ElasticJob, Price, StoragePrices, Terms
from tests.controller.builders import (
    LONG_AGO,
    NOW,
    after,
    applied,
    cleared,
    created,
    deleted,
    job,
    node,
    pod,
    pool,
    reasons,
    seen,
    truths,
    world,
)

GB = 10**9
HOUR = 3600.0
"""Three nodes at $0.18 cost $0.54 in it."""


def spender(dollars: float | None, *, generation: int = 1, **spec: Any) -> ElasticJob:
    return replace(job(budget={"maxDollars": dollars}, **spec), generation=generation)


def three_workers(this: ElasticJob, **changes: Any) -> Observed:
    """Three workers that have had a node each since NOW, and a status that knows it."""
    fresh = seen(
        *(pod(i, node=f"node-{i}", scheduled_at=NOW, started_at=NOW, gpus=1) for i in range(3)),
        nodes=tuple(node(f"node-{i}", gpus=1, capacity="spot") for i in range(3)),
        pools=(pool(),),
        board=Board(since=NOW),
        **changes,
    )
    return replace(fresh, status=reconcile(this, fresh, NOW).status)


def spent(observed: Observed) -> float:
    assert observed.status.ledger
    assert observed.status.ledger.totals
    return observed.status.ledger.totals.estimated_usd


def at(this: ElasticJob, observed: Observed, now: datetime) -> Observed:
    """The cluster after a look, all pods that are to go gone."""
    return cleared(applied(observed, reconcile(this, observed, now), now))


def test_a_job_that_has_cost_its_budget_lets_its_workers_save_and_says_so() -> None:
    this = spender(0.5)
    plan = reconcile(this, three_workers(this), after(HOUR))
    assert len(deleted(plan)) == 3
    assert all(getattr(action, "grace_seconds", 1) is None for action in plan.actions)
    assert truths(plan.status) == {
        "Created": "JobCreated",
        "Suspended": "BudgetExceeded",
        "BudgetExceeded": "BudgetExceeded",
    }
    (event,) = plan.events
    assert (event.type, event.reason) == ("Warning", "BudgetExceeded")
    assert event.message == (
        "the job has cost about $0.54, and spec.budget.maxDollars is 0.5: its workers save and "
        "leave. To go on from there: spotrain resume digits --budget USD."
    )


def test_it_is_looked_at_when_the_budget_will_be_used_up() -> None:
    this = spender(0.54 / 4)
    observed = three_workers(this)
    plan = reconcile(this, observed, after(1))
    assert plan.requeue_at is not None
    assert (plan.requeue_at - after(HOUR / 4)).total_seconds() == pytest.approx(0, abs=0.01)
    assert deleted(reconcile(this, observed, after(HOUR / 4 - 5))) == []
    assert len(deleted(reconcile(this, observed, plan.requeue_at))) == 3


def test_it_stays_suspended_though_prices_fall_and_says_nothing_new() -> None:
    this = spender(0.5)
    observed = at(this, three_workers(this), after(HOUR))
    observed = at(this, observed, after(HOUR + 60))
    cheap = replace(observed, pools=(pool(spot_usd_per_hour=0.01),))
    for later in (120, 7200):
        plan = reconcile(this, cheap, after(HOUR + later))
        assert (plan.actions, plan.events) == ((), ())
        assert plan.status == cheap.status


@pytest.mark.parametrize("dollars", [0.6, None])
def test_a_budget_that_was_raised_or_removed_lets_it_go_on(dollars: float | None) -> None:
    before = at(spender(0.5), three_workers(spender(0.5)), after(HOUR))
    plan = reconcile(spender(dollars, generation=2), before, after(HOUR + 60))
    assert created(plan) == [0, 1, 2]
    assert "Suspended" not in truths(plan.status)
    assert "BudgetExceeded" not in truths(plan.status)
    assert "Resumed" in reasons(plan)
    assert plan.status.attempt == 1


def test_a_budget_that_was_raised_too_little_is_told_with_what_it_has_cost_by_now() -> None:
    before = at(spender(0.5), three_workers(spender(0.5)), after(HOUR))
    more = spender(0.52, generation=2, suspend=True)
    plan = reconcile(more, before, after(HOUR + 60))
    (event,) = plan.events
    assert "about $0.55, and spec.budget.maxDollars is 0.52" in event.message
    assert event.message.endswith("spotrain resume digits --budget USD.")
    assert reconcile(more, replace(before, status=plan.status), after(HOUR + 120)).events == ()


def test_the_price_of_the_zone_and_the_type_counts_while_it_is_fresh() -> None:
    this = spender(100)
    told = Price(
        pool="t4-spot",
        zone="a",
        instance_type="g4dn.xlarge",
        spot_usd_per_hour=0.5,
        at=LONG_AGO,
    )
    nodes = tuple(node(f"node-{i}", gpus=1, instance_type="g4dn.xlarge") for i in range(3))
    observed = replace(three_workers(this), nodes=nodes)
    fresh = replace(
        observed, board=Board(since=NOW, prices=(told,)), status=type(observed.status)()
    )
    known = replace(fresh, status=reconcile(this, fresh, NOW).status)
    paid = at(spender(100, suspend=True), known, after(HOUR))
    assert spent(paid) == pytest.approx(1.5)
    later = at(spender(100, suspend=True), known, after(HOUR * 8))
    assert spent(later) == pytest.approx(3 * 8 * 0.18)


def test_what_its_pods_move_counts_where_that_has_a_price() -> None:
    this = spender(0.5)
    told = {f"digits-worker-{i}": TrafficView(10 * GB, GB, at=after(9)) for i in range(3)}
    moving = replace(three_workers(this), world=world(traffic=told))
    prices = Terms(storage=StoragePrices(read_usd_per_gb=0.01, written_usd_per_gb=0.05))
    plan = reconcile(this, replace(moving, board=Board(since=NOW, terms=prices)), after(600))
    assert len(deleted(plan)) == 3
    assert plan.status.ledger
    totals = plan.status.ledger.totals
    assert totals
    assert totals.traffic_usd == pytest.approx(0.45)
    assert totals.estimated_usd == pytest.approx(0.45 + 0.54 / 6)
    free = reconcile(this, replace(moving, board=Board(since=NOW)), after(600))
    assert deleted(free) == []
    unpriced = free.status.ledger
    assert unpriced
    assert unpriced.totals
    assert unpriced.totals.traffic_usd is None
    assert unpriced.totals.traffic.read_bytes == 30 * GB


def test_half_of_a_nodes_gpus_cost_half_of_the_node() -> None:
    this = spender(100, suspend=True)
    observed = three_workers(spender(100))
    wide = replace(observed, nodes=tuple(replace(each, gpus=4) for each in observed.nodes))
    fresh = replace(wide, status=JobStatus())
    known = replace(fresh, status=reconcile(spender(100), fresh, NOW).status)
    assert spent(at(this, known, after(HOUR))) == pytest.approx(0.54 / 4)
