"""At most K jobs of one sweep hold nodes at once, whoever comes, ends or is stopped meanwhile."""

from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from spotrain import contract
from spotrain.controller.board import Board, Claim
from spotrain.controller.placement import find_place
from spotrain.controller.reconcile import reconcile
from spotrain.controller.turns import out_of_turn, turn
from spotrain.job import ElasticJob, parse_job
from tests.controller.builders import NOW, after, created, document, reasons, seen
from tests.controller.test_share import OTHER, SMALL, claim, gpu_job, runs

SWEEP = "jobs/exp1"


def swept(at_most: int | None = 2) -> ElasticJob:
    """A job of the sweep."""
    given = document(placement={"gpu": "t4"}, sweep={"atMost": at_most})
    given["metadata"]["labels"] = {contract.LABEL_SWEEP: "exp1"}
    return parse_job(given)


def of_sweep(claim: Claim, **changes: Any) -> Claim:
    return replace(claim, sweep=SWEEP, **changes)


def beside(*claims: Claim, since: int = 60) -> Any:
    board = Board(claims=tuple(of_sweep(each) for each in claims), since=after(since))
    return seen(pools=(SMALL, OTHER), board=board)


def test_a_job_waits_while_its_sweep_has_as_many_as_may_run_and_claims_no_place_meanwhile() -> None:
    waiting = reconcile(swept(), beside(runs("x", 1), runs("y", 1)), NOW)
    assert created(waiting) == []
    condition = waiting.status.condition("Running")
    assert condition
    assert condition.reason == "SweepLimit"
    assert "sweep 'exp1' lets 2 of its jobs hold nodes at once" in condition.message
    assert reasons(waiting) == ["SweepLimit"]
    assert waiting.status.offer is None, "its GPUs would be kept from everybody else"
    again = reconcile(
        swept(), replace(beside(runs("x", 1), runs("y", 1)), status=waiting.status), NOW
    )
    assert again.events == ()
    started = reconcile(swept(), replace(beside(runs("x", 1)), status=waiting.status), NOW)
    assert created(started)


def test_without_a_limit_or_a_sweep_nobody_waits() -> None:
    others = beside(runs("x", 1), runs("y", 1))
    assert created(reconcile(swept(None), others, NOW))
    assert created(reconcile(gpu_job(), others, NOW))


def test_a_sweep_of_another_namespace_does_not_count() -> None:
    other = replace(runs("x", 1), sweep="elsewhere/exp1")
    observed = seen(pools=(SMALL,), board=Board(claims=(other,), since=after(60)))
    assert created(reconcile(swept(1), observed, NOW))


def test_a_job_that_still_leaves_is_waited_for() -> None:
    leaving = claim("x", least=0, held=1)
    assert find_place(swept(1), beside(leaving), NOW).obstacle


def test_an_older_job_goes_first_and_a_more_important_one_before_it() -> None:
    older = claim("x", least=1, since=NOW)
    assert find_place(swept(1), beside(older), NOW).obstacle
    assert find_place(swept(1), beside(older, since=-60), NOW).obstacle is None
    assert find_place(swept(1), beside(replace(older, priority=1), since=-60), NOW).obstacle


@given(
    most=st.integers(1, 3),
    steps=st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["look", "stop", "end"]))),
)
def test_never_more_than_may_hold_nodes_and_never_fewer_for_long(
    most: int, steps: list[tuple[int, str]]
) -> None:
    job = swept(most)
    jobs = [of_sweep(claim(str(n), least=1, since=after(n // 2))) for n in range(6)]

    def look(index: int) -> None:
        """The job takes a node if it may, and not before others know of it."""
        mine, others = jobs[index], jobs[:index] + jobs[index + 1 :]
        found = turn(job, mine, Board(claims=tuple(others)))
        if mine.least and found.limit >= 1:
            assert out_of_turn(job, mine, found) is None
            jobs[index] = replace(mine, held=1, started=True)

    for index, step in steps:
        if step == "look":
            look(index)
        elif step == "stop":
            jobs[index] = replace(jobs[index], least=1 - jobs[index].least)
        else:
            jobs[index] = replace(jobs[index], least=0, held=0)
        assert sum(each.held for each in jobs if each.least) <= most
    jobs = [replace(each, held=each.held if each.least else 0) for each in jobs]
    for _ in jobs:
        for index in range(6):
            look(index)
    wanting = sum(each.least for each in jobs)
    assert sum(each.held for each in jobs) == min(most, wanting)
