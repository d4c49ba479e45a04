"""What pods held is entered from what is seen of them, and no time moves that was entered."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from spotrain.controller.model import Observed, TrafficView, WorldView
from spotrain.controller.stays import enter_by, follow_stays
from spotrain.ledger.entries import Place, StayEntry
from tests.controller.builders import LONG_AGO, NOW, after, node, pod, pool, seen, world

SPOT = Place(pool="t4-spot", zone="a", capacity="spot", instance_type="g4dn.xlarge")


def there(*views: Any, **changes: Any) -> Observed:
    nodes = (node("node-1", gpus=4, instance_type="g4dn.xlarge", created_at=LONG_AGO),)
    return seen(*views, nodes=changes.pop("nodes", nodes), pools=(pool(gpus_per_node=4),))


def follow(
    observed: Observed,
    now: datetime = NOW,
    before: tuple[StayEntry, ...] = (),
    reason: str = "",
) -> StayEntry:
    reasons = {"uid-0": reason} if reason else {}
    (stay,) = follow_stays(before, observed, reasons, now)
    return stay


def test_a_running_pod_is_entered_with_its_node_and_place() -> None:
    view = pod(0, scheduled_at=after(-60), started_at=after(-30), gpus=1)
    assert follow(there(view)) == StayEntry(
        pod="digits-worker-0",
        uid="uid-0",
        gpus=1,
        created_at=LONG_AGO,
        scheduled_at=after(-60),
        started_at=after(-30),
        node="node-1",
        node_gpus=4,
        node_created_at=LONG_AGO,
        place=SPOT,
    )


def test_a_pod_that_is_gone_ended_when_it_was_missed_for_the_reason_it_was_removed() -> None:
    before = follow(there(pod(0)), reason="NodeNotice")
    gone = follow(there(), after(60), (before,))
    assert (gone.ended_at, gone.reason) == (after(60), "NodeNotice")
    assert follow(there(), after(90), (gone,)) == gone


@pytest.mark.parametrize(
    ("view", "reason"),
    [
        pytest.param(pod(0, "Failed", reason="Evicted"), "Evicted", id="by the node"),
        pytest.param(pod(0, "Failed", exit_code=3), "exit code 3", id="by itself"),
        pytest.param(pod(0, "Succeeded"), "Completed", id="well"),
    ],
)
def test_a_pod_that_has_ended_says_why(view: Any, reason: str) -> None:
    assert follow(there(view)).reason == reason


def test_a_pod_nobody_had_removed_was_deleted() -> None:
    assert follow(there(), after(1), (follow(there(pod(0))),)).reason == "Deleted"


@pytest.mark.parametrize(
    ("told", "entered"),
    [
        pytest.param(after(-10), after(-10), id="as told"),
        pytest.param(after(10), NOW, id="by a clock that is ahead"),
        pytest.param(after(-90), after(-60), id="by a clock that is behind"),
        pytest.param(None, NOW, id="untold"),
    ],
)
def test_an_end_lies_between_the_beginning_and_now(
    told: datetime | None, entered: datetime
) -> None:
    over = pod(0, "Failed", scheduled_at=after(-60), ended_at=told)
    assert follow(there(over)).ended_at == entered


def test_a_pod_that_was_missed_by_mistake_lives_on() -> None:
    missed = follow(there(), after(1), (follow(there(pod(0))),))
    assert follow(there(pod(0)), after(2), (missed,)).ended_at is None


def moved(at: datetime, read: int) -> WorldView:
    told = TrafficView(read_bytes=read, written_bytes=7, at=at)
    return world(traffic={"digits-worker-0": told})


def test_what_a_pod_moved_is_entered_as_it_was_told_last() -> None:
    first = follow(replace(there(pod(0)), world=moved(NOW, 100)))
    assert (first.read_bytes, first.written_bytes) == (100, 7)
    later = follow(replace(there(pod(0)), world=moved(after(15), 300)), after(15), (first,))
    assert later.read_bytes == 300
    forgotten = follow(replace(there(pod(0)), world=world()), after(30), (later,))
    assert forgotten.read_bytes == 300


def test_what_an_earlier_pod_of_that_name_moved_is_not_the_later_ones() -> None:
    young = pod(0, "Pending", created_at=after(1))
    assert follow(replace(there(young), world=moved(NOW, 100)), after(2)).read_bytes is None


def test_without_a_view_of_nodes_the_pods_own_word_counts() -> None:
    view = pod(0, place="t4-spot/b")
    blind = follow(there(view, nodes=()))
    assert blind.place == Place(pool="t4-spot", zone="b", capacity="spot")
    assert blind.node_gpus == 4


def test_a_node_that_is_not_seen_yet_is_waited_for_until_the_pod_has_ended() -> None:
    late = pod(0, node="node-2", place="t4-spot/b")
    waiting = follow(there(late))
    assert waiting.place is None
    over = follow(there(replace(late, phase="Failed")), after(9), (waiting,))
    assert over.place == Place(pool="t4-spot", zone="b", capacity="spot")


def test_a_pod_that_pulls_its_image_has_not_started_though_a_sidecar_runs() -> None:
    assert follow(there(pod(0, waits_for="ContainerCreating"))).started_at is None


def test_what_nothing_tells_of_later_is_entered_at_once_and_a_node_soon() -> None:
    homeless = follow(there(pod(0, "Pending", node=None)))
    assert enter_by((homeless,), there(pod(0, "Pending", node=None)), NOW) is None
    bound = there(pod(0, "Pending", scheduled_at=after(-5)))
    assert enter_by((homeless,), bound, NOW) == after(10)
    undated = there(pod(0, "Pending", scheduled_at=None, created_at=after(-9)))
    assert {enter_by((homeless,), undated, after(s)) for s in (0, 60)} == {after(6)}
    assert enter_by((), bound, NOW) == NOW
    assert enter_by((homeless,), there(), NOW) == NOW
    assert enter_by((homeless,), there(pod(0, "Failed")), NOW) == NOW
    ended = follow(there(pod(0, "Failed")))
    assert enter_by((ended,), there(pod(0, "Failed")), NOW) is None
