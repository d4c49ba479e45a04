"""What a drill will do, what it has measured, and when it has failed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain import contract
from spotrain.cli.cluster import Cluster
from spotrain.cli.drill_cluster import InCluster
from spotrain.cli.drill_plan import Strike, parse_manners, plan_strike, steady_world, unsteady
from spotrain.cli.drill_verdict import Limits, Outcome, goes_on, is_whole, missing, worlds_ended
from spotrain.cli.drilling import Check, Drill, nothing_to_check
from spotrain.cli.errors import CONFLICT, JOB_FAILED, NO_CLUSTER, NOT_FOUND, UserError
from spotrain.cli.job_view import JobView, view
from spotrain.cli.refusals import NotAnswering
from spotrain.kinds import Kind, Object
from spotrain.ledger.entries import WorldEntry, to_document
from spotrain.local.interruptions import Manner
from tests.cli.documents import job

START = datetime(2026, 1, 1, tzinfo=UTC)


def world(number: int = 1, **changes: Any) -> WorldEntry:
    """A world of two that does ten steps a second."""
    said: dict[str, Any] = {
        "number": number,
        "size": 2,
        "published_at": START,
        "first_step_at": START,
        "last_step_at": START + timedelta(seconds=10),
        "restored_step": 0,
        "last_step": 101,
    }
    return WorldEntry(**{**said, **changes})


def ended(
    number: int = 1,
    *,
    reason: str = "notice",
    pause: float | None = 0.5,
    lost: int = 0,
    size: int = 2,
) -> WorldEntry:
    return world(
        number,
        ended_at=START + timedelta(seconds=10),
        reason=reason,
        pause_seconds=pause,
        steps_lost=None if pause is None else lost,
        size=size,
    )


def seen(*worlds: WorldEntry, ready: int = 2, state: str = "Running", **spec: Any) -> JobView:
    status = {
        "state": state,
        "replicaStatuses": {contract.WORKER: {"active": ready, "ready": ready}},
        "history": [to_document(each) for each in worlds],
    }
    return view(job(status=status, **spec))


def pod(index: int, node: str = "n0", *, name: str = "digits", **changes: Any) -> Object:
    labels = {contract.LABEL_JOB: name, contract.LABEL_REPLICA_INDEX: str(index)}
    metadata = {"name": f"{name}-worker-{index}", "uid": f"uid-{index}", "labels": labels}
    return {
        "metadata": {**metadata, **changes.pop("metadata", {})},
        "spec": {"nodeName": node},
        "status": {"phase": "Running", **changes},
    }


PODS = [pod(0, "n0"), pod(2, "n1"), pod(1, "n1"), pod(0, "n1", name="other")]


def strike(manner: Manner, index: int | None = None) -> Strike:
    return plan_strike(manner, seen(world()), PODS, index=index)


def outcome(*worlds: WorldEntry, manner: Manner = Manner.NOTICE, **changes: Any) -> Outcome:
    said: dict[str, Any] = {"usd_per_hour": 3.6, "whole_seconds": 30.0}
    return Outcome(strike=strike(manner), worlds=worlds, **{**said, **changes})


# --- The plan ---


def test_a_notice_evicts_the_very_pod_with_its_own_grace_period() -> None:
    (call,) = strike(Manner.NOTICE).calls
    path = "/api/v1/namespaces/team/pods/digits-worker-2/eviction"
    assert call.document() == {
        "method": "POST",
        "path": path,
        "body": {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": "digits-worker-2", "namespace": "team"},
            "deleteOptions": {"preconditions": {"uid": "uid-2"}},
        },
    }


def test_a_kill_gives_no_grace_at_all() -> None:
    (call,) = strike(Manner.KILL, 0).calls
    assert (call.method, call.name, call.subresource) == ("DELETE", "digits-worker-0", "")
    assert call.body == {"gracePeriodSeconds": 0, "preconditions": {"uid": "uid-0"}}


def test_a_node_is_cordoned_before_every_worker_of_this_job_is_evicted_and_opened_again() -> None:
    drained = strike(Manner.NODE, 1)
    sent = [(call.method, call.name) for call in drained.calls]
    assert sent == [("PATCH", "n1"), ("POST", "digits-worker-1"), ("POST", "digits-worker-2")]
    assert [call.body for call in (drained.calls[0], *drained.undo)] == [
        {"spec": {"unschedulable": True}},
        {"spec": {"unschedulable": False}},
    ]


def test_what_is_undone_is_only_what_stays_otherwise() -> None:
    assert strike(Manner.NOTICE).undo == strike(Manner.KILL).undo == ()


@pytest.mark.parametrize(
    ("pods", "index", "code", "says"),
    [
        pytest.param(PODS, 7, NOT_FOUND, "there are 0, 1, 2", id="unknown"),
        pytest.param([pod(0, phase="Pending")], None, CONFLICT, "explain digits", id="pending"),
        pytest.param(
            [pod(0, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            None,
            CONFLICT,
            "no worker",
            id="on-its-way-out",
        ),
    ],
)
def test_only_a_worker_that_runs_is_hit(
    pods: list[Object], index: int | None, code: int, says: str
) -> None:
    with pytest.raises(UserError, match=says) as refused:
        plan_strike(Manner.NOTICE, seen(world()), pods, index=index)
    assert refused.value.exit_code == code


@pytest.mark.parametrize(
    ("job_seen", "says"),
    [
        pytest.param(seen(world(), ready=1), "1 of 2 workers", id="a-worker-is-missing"),
        pytest.param(seen(), "forms a world", id="no-world"),
        pytest.param(seen(ended()), "forms a world", id="between-two-worlds"),
        pytest.param(seen(world(first_step_at=None)), "no step", id="no-step-yet"),
        pytest.param(seen(ended(), world(2, size=1)), "world of 1 until it grows to 2", id="small"),
        pytest.param(seen(world(), suspend=True), "Stopping", id="suspended"),
        pytest.param(seen(world(), minReplicas=5, maxReplicas=2), "only a job", id="bad-spec"),
    ],
)
def test_a_job_that_does_not_train_with_all_its_workers_is_not_drilled(
    job_seen: JobView, says: str
) -> None:
    with pytest.raises(UserError, match=says) as refused:
        steady_world(job_seen)
    assert refused.value.exit_code == CONFLICT


def test_kinds_come_in_the_order_in_which_they_are_written() -> None:
    assert parse_manners("kill, notice,node") == (Manner.KILL, Manner.NOTICE, Manner.NODE)


@pytest.mark.parametrize("text", ["", ",", "notice,murder"])
def test_other_kinds_are_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(UserError, match="notice, kill, node"):
        parse_manners(text)


# --- What is measured ---


def test_all_that_came_of_it_counts_until_the_job_is_whole() -> None:
    """The world shrinks, and grows again: two changes, with a world between them that never
    trained."""
    unborn = world(2, ended_at=START, first_step_at=None, last_step=None, reason="loss")
    found = outcome(ended(1, pause=2.0, lost=10), unborn, ended(3, reason="growth", pause=1.0))
    assert (found.pause_seconds, found.steps_lost) == (3.0, 10)
    assert found.reason == "notice"


def test_dollars_lost_are_those_of_the_standstill_and_of_the_steps_done_again() -> None:
    """100 steps took 10 s, and the nodes cost 0.001 dollars a second."""
    assert outcome(ended(pause=2.0, lost=30)).usd_lost == pytest.approx(0.001 * (2.0 + 3.0))


def test_without_a_price_nothing_is_said_of_dollars() -> None:
    assert outcome(ended(lost=30), usd_per_hour=None).usd_lost is None


def test_a_job_is_whole_again_in_a_later_world_that_is_as_large_and_trains() -> None:
    before, after = world(1), ended(1)
    assert not is_whole(seen(before), before)
    assert not is_whole(seen(after, world(2, size=1), ready=1), before)
    assert not is_whole(seen(after, world(2, size=1)), before)
    assert not is_whole(seen(after, world(2, first_step_at=None)), before)
    assert is_whole(seen(after, ended(2, reason="growth"), world(3)), before)


def test_training_goes_on_once_the_ledger_has_the_price_of_the_change() -> None:
    assert not goes_on(seen(world(1)), 1)
    assert not goes_on(seen(ended(1, pause=None), world(2, first_step_at=None)), 1)
    assert goes_on(seen(ended(1), world(2, size=1)), 1)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        pytest.param(
            seen(world(1)), "nobody has seen digits-worker-2 leave it yet", id="not-even-hit"
        ),
        pytest.param(
            seen(ended(1, pause=None), ready=1),
            "has ended by notice and no other one was formed; 1 of 2 workers ready",
            id="no-world",
        ),
        pytest.param(
            seen(ended(1, pause=None), world(2, size=1, first_step_at=None)),
            "and world 2 of 1 worker has done no step",
            id="no-step",
        ),
        pytest.param(
            seen(ended(1), world(2, size=1), ready=1),
            "and world 2 of 1 worker trains; the job has 1 of 2 workers ready",
            id="a-worker-is-missing",
        ),
        pytest.param(
            seen(ended(1), world(2, size=1)),
            "the job trains in a world of 1 until it grows to 2",
            id="back-but-not-in-the-world",
        ),
        pytest.param(seen(ended(1), world(2)), "only now", id="too-late"),
    ],
)
def test_what_was_awaited_when_the_time_was_over_is_told_and_what_had_come(
    found: JobView, says: str
) -> None:
    assert says in missing(found, strike(Manner.NOTICE), world(1))


def test_a_job_whose_worlds_may_only_have_some_sizes_waits_for_no_other() -> None:
    sizes = {"allowedReplicas": [1]}
    assert not unsteady(seen(world(size=1), elastic=sizes))


def test_worlds_before_the_interruption_and_the_one_after_are_not_part_of_it() -> None:
    view_of = seen(ended(1), ended(2), ended(3), world(4))
    assert [each.number for each in worlds_ended(view_of, 2)] == [2, 3]


# --- The verdict ---


@pytest.mark.parametrize(
    ("found", "limits", "says"),
    [
        pytest.param(outcome(ended()), Limits(), "", id="a-notice-that-cost-nothing"),
        pytest.param(outcome(ended(lost=1)), Limits(), "1 step lost", id="a-step-after-notice"),
        pytest.param(outcome(ended(lost=1)), Limits(max_steps_lost=1), "", id="allowed"),
        pytest.param(
            outcome(ended(reason="loss", lost=99), manner=Manner.KILL), Limits(), "", id="a-kill"
        ),
        pytest.param(
            outcome(ended(reason="loss", lost=99), manner=Manner.KILL),
            Limits(max_steps_lost=50),
            "99 steps lost, where 50",
            id="a-kill-too-dear",
        ),
        pytest.param(
            outcome(ended(pause=0.6)), Limits(max_pause_seconds=0.5), "0.60 s", id="a-long-pause"
        ),
        pytest.param(
            outcome(ended(reason="notice"), manner=Manner.KILL),
            Limits(),
            "ended by notice and not by loss",
            id="a-kill-that-came-as-a-notice",
        ),
        pytest.param(
            outcome(ended(reason="growth"), manner=Manner.NODE), Limits(), "growth", id="another"
        ),
        pytest.param(
            outcome(ended(), whole_seconds=None, problem="never came back"),
            Limits(),
            "never came back",
            id="not-whole",
        ),
        pytest.param(outcome(whole_seconds=None), Limits(), "nothing", id="no-world-ended"),
    ],
)
def test_the_verdict(found: Outcome, limits: Limits, says: str) -> None:
    faults = found.faults(limits)
    assert bool(faults) == bool(says)
    assert says in " ".join(faults)
    assert found.document(limits)["passed"] is (not says)


@given(
    pause=st.floats(min_value=0, max_value=1e6),
    lost=st.integers(min_value=0, max_value=10**6),
    limit=st.floats(min_value=0, max_value=1e6),
    most=st.integers(min_value=0, max_value=10**6),
)
def test_a_drill_passes_exactly_where_neither_limit_is_passed(
    pause: float, lost: int, limit: float, most: int
) -> None:
    found = outcome(ended(pause=pause, lost=lost))
    faults = found.faults(Limits(max_pause_seconds=limit, max_steps_lost=most))
    assert len(faults) == (pause > limit) + (lost > most)


# --- Watching ---


@dataclass
class Practice:
    """A `Ground` whose API server is away for so many looks as soon as somebody is hit."""

    away: int
    local: bool = False
    is_hit: bool = False

    @property
    def jobs(self) -> Any:
        return self

    def get(self, name: str) -> Object:
        if not self.is_hit:
            return seen(world(1)).document
        self.away -= 1
        if self.away >= 0:
            raise NotAnswering("the cluster does not answer.")
        return seen(ended(1), world(2)).document

    def plan(self, manner: Manner, seen: JobView, index: int | None) -> Strike:
        return strike(manner)

    @contextmanager
    def struck(self, strike: Strike) -> Iterator[Check]:
        self.is_hit = True
        yield nothing_to_check

    def usd_per_hour(self, seen: JobView) -> float | None:
        return None


def practise(away: int, timeout_seconds: float) -> Outcome:
    drill = Drill(Practice(away), "digits", None, timeout_seconds, look_seconds=0.001)
    return drill.run(Manner.NOTICE)


def test_an_api_server_that_is_away_for_a_while_is_waited_for() -> None:
    assert practise(away=3, timeout_seconds=60.0).whole_seconds is not None


def test_one_that_stays_away_ends_the_drill_with_its_time() -> None:
    with pytest.raises(NotAnswering):
        practise(away=10**9, timeout_seconds=0.01)


@dataclass
class Deadly(Practice):
    """Its job has failed, once it was hit."""

    def get(self, name: str) -> Object:
        found = super().get(name)
        over = {"conditions": [{"type": "Failed", "status": "True"}], "state": "Failed"}
        return {**found, "status": {**found["status"], **over}} if self.is_hit else found


def test_a_job_that_does_not_come_back_has_failed_the_drill() -> None:
    drill = Drill(Deadly(0), "digits", None, 60.0, look_seconds=0.001)
    with pytest.raises(UserError, match=r"did not come back.*spotrain explain digits") as failed:
        drill.run(Manner.KILL)
    assert failed.value.exit_code == JOB_FAILED


@dataclass
class Flaky:
    """A `Cluster` that answers every request but the next so many to open a node again."""

    away: int
    sent: list[tuple[str, str]] = field(default_factory=list)

    def send(self, method: str, _kind: Kind, name: str, *, body: Object, **_: Any) -> None:
        if body == {"spec": {"unschedulable": False}}:
            self.away -= 1
            if self.away >= 0:
                raise NotAnswering("the cluster does not answer.")
        self.sent.append((method, name))


def strike_in(cluster: Flaky) -> None:
    with InCluster(cast(Cluster, cluster), pause_seconds=0.0).struck(strike(Manner.NODE, 0)):
        raise KeyboardInterrupt


def test_a_node_is_opened_again_though_the_api_server_is_away_for_a_moment() -> None:
    cluster = Flaky(away=3)
    with pytest.raises(KeyboardInterrupt):
        strike_in(cluster)
    assert cluster.sent == [("PATCH", "n0"), ("POST", "digits-worker-0"), ("PATCH", "n0")]


def test_a_node_that_could_not_be_opened_is_named_with_the_command_that_does() -> None:
    with pytest.raises(UserError, match="Next: kubectl uncordon n0") as told:
        strike_in(Flaky(away=99))
    assert told.value.exit_code == NO_CLUSTER
