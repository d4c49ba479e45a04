"""When a job leaves its place, and where it goes."""

import re
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain.controller import moving
from spotrain.controller.board import Board, ScaleUp
from spotrain.controller.model import CreatePod, Observed, Plan, PodView
from spotrain.controller.moving import HISTORY, REST_SECONDS, enter, resting
from spotrain.controller.presence import ARRIVAL_MINUTES, Presence
from spotrain.controller.reconcile import reconcile
from spotrain.controller.status import JobStatus, OfferStatus, PastOffer
from tests.controller.builders import (
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
)

SPOT = pool("t4-spot")
DEMAND = pool("t4-demand", capacity="on-demand", spot_usd_per_hour=None)
POOLS = (SPOT, DEMAND)
HERE, NEXT = "t4-spot/a", "t4-spot/b"


def placed(**spec: Any) -> Any:
    return job(**{"minReplicas": 2, "placement": {"gpu": "t4"}, **spec})


def waiting(index: int, place: str = HERE, **changes: Any) -> PodView:
    """A worker for which there is no node."""
    return pod(index, "Pending", node=None, unschedulable="0/9 nodes", place=place, **changes)


def at_home(index: int, place: str = HERE, **changes: Any) -> PodView:
    return pod(index, **{"place": place, **changes})


def there(*pods: PodView, clock: OfferStatus | None = None, **changes: Any) -> Observed:
    """A job that has been at its first place since NOW."""
    offer = clock or OfferStatus("t4-spot", "a", NOW)
    status = replace(changes.pop("status", JobStatus()), offer=offer)
    return seen(*pods, **{"pools": POOLS, "status": status, **changes})


def place_of(plan: Plan) -> str:
    assert plan.status.offer
    return plan.status.offer.place


def looked(observed: Observed, now: datetime) -> tuple[Plan, Observed]:
    plan = reconcile(placed(), observed, now)
    return plan, replace(observed, status=plan.status)


@pytest.mark.acceptance(32)
def test_after_move_after_seconds_without_nodes_the_whole_job_goes_to_the_next_place() -> None:
    _, observed = looked(there(at_home(0), waiting(1), waiting(2)), NOW)
    early, observed = looked(observed, after(599))
    assert (place_of(early), deleted(early)) == (HERE, [])
    assert early.requeue_at == after(600)
    plan = reconcile(placed(), observed, after(600))
    assert place_of(plan) == NEXT
    assert deleted(plan) == ["digits-worker-0", "digits-worker-1", "digits-worker-2"]
    assert created(plan) == [], "names are free only when their pods are gone"
    (page,) = plan.status.offer_history
    assert (page.place, page.reason, page.until) == (HERE, "NoNodes", after(600))
    assert "1 of 2 workers got a node in 600 s" in page.message
    assert "OfferChosen" in reasons(plan)
    moved = cleared(applied(observed, plan, after(600)))
    arrived = reconcile(placed(), moved, after(630))
    manifests = [a.manifest for a in arrived.actions if isinstance(a, CreatePod)]
    selectors = {m["spec"]["nodeSelector"]["topology.kubernetes.io/zone"] for m in manifests}
    assert (len(manifests), selectors) == (3, {"b"})
    assert {m["metadata"]["annotations"]["spotrain.dev/offer"] for m in manifests} == {NEXT}


def test_a_move_is_no_failure_and_no_disruption() -> None:
    _, observed = looked(there(at_home(0), waiting(1), waiting(2)), NOW)
    plan = reconcile(placed(), observed, after(600))
    leaving = applied(observed, plan, after(600))
    killed = replace(
        leaving,
        pods=tuple(replace(p, phase="Failed", exit_code=143, ready=False) for p in leaving.pods),
    )
    status = reconcile(placed(), killed, after(620)).status
    assert (status.restarts.failures, status.restarts.disruptions) == (0, 0)


@pytest.mark.acceptance(28)
def test_a_job_starts_with_its_least_workers_and_goes_on_asking_for_the_others() -> None:
    """A pod that waits is what makes the autoscaler order a node."""
    plan = reconcile(placed(), there(at_home(0), at_home(1), waiting(2)), NOW)
    running = plan.status.condition("Running")
    assert running
    assert (running.status, running.reason) == ("True", "EnoughWorkers")
    assert re.search(r"1 without a node: .*[^.]\.( |$)", running.message)
    assert (created(plan), deleted(plan)) == ([], [])
    gone = there(at_home(0), at_home(1), status=plan.status)
    assert created(reconcile(placed(), gone, after(5))) == [2]


def test_a_job_that_has_its_least_workers_never_moves() -> None:
    word = ScaleUp("failed", "1 in backoff after failed scale-up", after(1))
    board = Board(scale_ups={"uid-2": word})
    observed = there(at_home(0), at_home(1), waiting(2), board=board)
    _, observed = looked(observed, NOW)
    plan = reconcile(placed(), observed, after(86400))
    assert (place_of(plan), deleted(plan)) == (HERE, [])


@pytest.mark.parametrize(
    "coming",
    [
        pytest.param({"ready": False}, id="boots"),
        pytest.param({"ready": True, "gpus": 0}, id="has-no-device-plugin-yet"),
    ],
)
def test_the_clock_stands_still_while_a_node_boots(coming: dict[str, Any]) -> None:
    waits = there(waiting(0), waiting(1), waiting(2))
    _, waits = looked(waits, NOW)
    boots = replace(waits, nodes=(node("n", created_at=after(100), **coming),))
    paused, boots = looked(boots, after(100))
    assert paused.status.offer
    assert paused.status.offer.waited_seconds == 100
    assert paused.status.offer.waiting_since is None
    still, boots = looked(boots, after(900))
    assert place_of(still) == HERE
    assert still.requeue_at == after(100 + 60 * ARRIVAL_MINUTES)
    gone = replace(boots, nodes=())
    _, gone = looked(gone, after(900))
    assert place_of(reconcile(placed(), gone, after(900 + 499))) == HERE
    assert place_of(reconcile(placed(), gone, after(900 + 500))) == NEXT


def test_a_node_that_never_comes_up_stops_no_clock() -> None:
    broken = node("n", ready=False, created_at=after(-60 * ARRIVAL_MINUTES))
    observed = there(waiting(0), waiting(1), waiting(2), nodes=(broken,))
    _, observed = looked(observed, NOW)
    assert place_of(reconcile(placed(), observed, after(600))) == NEXT


def test_a_node_that_boots_elsewhere_is_no_reason_to_wait() -> None:
    other = node("n", zone="b", ready=False, created_at=NOW)
    observed = there(waiting(0), waiting(1), waiting(2), nodes=(other,))
    _, observed = looked(observed, NOW)
    assert place_of(reconcile(placed(), observed, after(600))) == NEXT


def test_the_clock_stands_still_while_an_image_is_pulled() -> None:
    pulls = pod(0, "Pending", place=HERE, scheduled_at=NOW, waits_for="ContainerCreating")
    _, observed = looked(there(pulls, waiting(1), waiting(2)), NOW)
    later, observed = looked(observed, after(800))
    assert later.status.offer == OfferStatus("t4-spot", "a", NOW)


def test_an_image_that_cannot_be_pulled_is_told_and_stops_no_clock() -> None:
    stuck = pod(0, "Pending", place=HERE, scheduled_at=NOW, waits_for="ImagePullBackOff")
    plan, observed = looked(there(stuck, waiting(1), waiting(2)), NOW)
    running = plan.status.condition("Running")
    assert running
    assert "digits-worker-0 cannot pull its image" in running.message
    assert place_of(reconcile(placed(), observed, after(600))) == NEXT


def test_workers_that_crash_on_their_nodes_are_no_fault_of_the_place() -> None:
    crashed = [at_home(i, phase="Failed", ready=False, exit_code=1) for i in range(3)]
    observed = there(*crashed)
    for seconds in (0, 5, 9):
        plan, observed = looked(observed, after(seconds))
    assert plan.status.offer == OfferStatus("t4-spot", "a", NOW)


def test_a_failed_scale_up_ends_the_wait_at_once() -> None:
    word = ScaleUp("failed", "1 in backoff after failed scale-up", after(60))
    _, observed = looked(there(at_home(0), waiting(1), waiting(2)), NOW)
    told = replace(observed, board=Board(scale_ups={"uid-1": word}))
    plan = reconcile(placed(), told, after(61))
    assert place_of(plan) == NEXT
    assert plan.status.offer_history[0].reason == "ScaleUpFailed"
    assert "1 in backoff after failed scale-up" in plan.status.offer_history[0].message


def test_a_failed_scale_up_is_taken_back_by_a_later_order() -> None:
    words = {
        "uid-1": ScaleUp("failed", "in backoff", after(60)),
        "uid-2": ScaleUp("ordered", "pod triggered scale-up", after(90)),
    }
    _, observed = looked(there(at_home(0), waiting(1), waiting(2)), NOW)
    plan = reconcile(placed(), replace(observed, board=Board(scale_ups=words)), after(91))
    assert place_of(plan) == HERE


def test_the_clock_stands_still_while_an_ordered_node_has_not_registered_yet() -> None:
    """A machine takes minutes until Kubernetes knows of it; the autoscaler tells of its order."""
    word = ScaleUp("ordered", "pod triggered scale-up: [{t4-spot-a 0->1 (max: 8)}]", after(5))
    waits = there(waiting(0), waiting(1), waiting(2), board=Board(scale_ups={"uid-0": word}))
    plan, waits = looked(waits, after(5))
    assert plan.requeue_at == after(5 + 60 * ARRIVAL_MINUTES)
    plan, waits = looked(waits, after(60 * ARRIVAL_MINUTES))
    assert plan.status.offer == OfferStatus("t4-spot", "a", NOW)
    plan, waits = looked(waits, after(5 + 60 * ARRIVAL_MINUTES))
    assert place_of(plan) == HERE
    assert place_of(reconcile(placed(), waits, after(605 + 60 * ARRIVAL_MINUTES))) == NEXT


def test_a_failed_scale_up_beyond_the_least_workers_moves_nobody() -> None:
    """The node that boots is all that minReplicas needs."""
    word = ScaleUp("failed", "1 in backoff after failed scale-up", after(60))
    boots = node("n", ready=False, created_at=after(50))
    observed = there(at_home(0), waiting(1), waiting(2), nodes=(boots,))
    _, observed = looked(observed, NOW)
    plan = reconcile(placed(), replace(observed, board=Board(scale_ups={"uid-2": word})), after(61))
    assert place_of(plan) == HERE


def test_a_full_group_is_waited_for_as_long_as_any() -> None:
    word = ScaleUp("full", "1 max node group size reached", after(5))
    observed = there(at_home(0), waiting(1), waiting(2), board=Board(scale_ups={"uid-1": word}))
    _, observed = looked(observed, NOW)
    assert place_of(reconcile(placed(), observed, after(599))) == HERE
    plan = reconcile(placed(), observed, after(600))
    assert "max node group size reached" in plan.status.offer_history[0].message


def test_a_job_with_one_place_only_stays_there_and_says_so() -> None:
    this = placed(placement={"gpu": "t4", "capacity": "onDemand"})
    one = pool("t4-demand", capacity="on-demand", zones=("a",))
    home = OfferStatus("t4-demand", "a", NOW)
    pods = [waiting(i, "t4-demand/a") for i in range(3)]
    observed = there(*pods, clock=home, pools=(one,))
    for now, is_stuck in ((NOW, False), (after(900), True)):
        plan = reconcile(this, observed, now)
        observed = replace(observed, status=plan.status)
        assert (place_of(plan), deleted(plan), plan.status.offer_history) == ("t4-demand/a", [], ())
        running = plan.status.condition("Running")
        assert running
        assert (
            "no other place to go to now; it waits in t4-demand." in running.message
        ) == is_stuck
        assert "moves" not in running.message
    again = reconcile(this, replace(observed, status=plan.status), after(930))
    assert again.status == plan.status, "waiting costs no write"


@pytest.mark.parametrize(
    ("rest_ends", "says"),
    [
        pytest.param(601, False, id="it-rests-then-too"),
        pytest.param(600, True, id="it-has-rested"),
    ],
)
def test_a_job_is_said_to_move_only_where_a_place_will_take_it(rest_ends: int, says: bool) -> None:
    rested = PastOffer("t4-spot", "b", NOW, "NoNodes", retry_at=after(rest_ends))
    status = JobStatus(offer_history=(rested,))
    _, observed = looked(there(*map(waiting, range(3)), pools=(SPOT,), status=status), NOW)
    running = reconcile(placed(), observed, after(30)).status.condition("Running")
    assert running
    assert ("it moves from t4-spot, a, to the next place" in running.message) == says
    assert "no other place" not in running.message


def test_a_place_that_failed_is_tried_again_after_its_rest() -> None:
    rested = PastOffer("t4-spot", "b", NOW, "NoNodes", retry_at=after(REST_SECONDS))
    status = JobStatus(offer_history=(rested,))
    observed = there(*(waiting(i) for i in range(3)), pools=(SPOT,), status=status)
    _, observed = looked(observed, after(-300))
    stays, observed = looked(observed, after(REST_SECONDS - 1))
    assert (place_of(stays), stays.requeue_at) == (HERE, after(REST_SECONDS))
    assert place_of(reconcile(placed(), observed, after(REST_SECONDS))) == NEXT


def test_the_history_survives_a_restart_of_the_controller() -> None:
    _, observed = looked(there(at_home(0), waiting(1), waiting(2)), NOW)
    plan = reconcile(placed(), observed, after(600))
    assert JobStatus.from_document(plan.status.to_document()) == plan.status


def test_a_resumed_job_still_avoids_the_place_that_failed_it_a_moment_ago() -> None:
    failed = PastOffer("t4-spot", "a", NOW, "ScaleUpFailed", retry_at=after(REST_SECONDS))
    status = JobStatus(offer_history=(failed,))
    assert place_of(reconcile(placed(), seen(pools=POOLS, status=status), after(9))) == NEXT


PAGES = st.lists(
    st.builds(
        lambda zone, at, rests: PastOffer(
            "p", zone, after(at), "NoNodes", retry_at=after(at + 600) if rests else None
        ),
        st.sampled_from([f"z{n}" for n in range(40)]),
        st.integers(0, 3000),
        st.booleans(),
    ),
    max_size=80,
)


@given(PAGES)
def test_the_history_stays_bounded_and_forgets_no_place_that_rests(pages: list[PastOffer]) -> None:
    history: tuple[PastOffer, ...] = ()
    for page in sorted(pages, key=lambda page: page.until):
        before = resting(history, page.until)
        history = enter(history, page, page.until)
        assert {**before, **resting((page,), page.until)} == resting(history, page.until)
        assert len(history) <= HISTORY + len(before)


@given(
    st.lists(
        st.tuples(st.sampled_from(["waits", "boots", "runs"]), st.integers(1, 400)), max_size=12
    )
)
def test_the_clock_counts_exactly_the_seconds_that_nothing_comes(
    story: list[tuple[str, int]],
) -> None:
    """Whatever order nodes boot, come and go in, and however often the controller looks."""
    this, clock, seconds, total = placed(), OfferStatus("t4-spot", "a", NOW), 0, 0
    for what, lasts in story:
        for moment in (seconds, seconds + lasts // 2):
            clock = moving.advance(this, clock, present(what), after(moment))
        seconds += lasts
        total = 0 if what == "runs" else total + (lasts if what == "waits" else 0)
        assert moving.waited(clock, after(seconds)) == total
        ends = moving.patience_ends(this, clock)
        assert (ends is not None) == (what == "waits")
        assert ends is None or (ends - after(seconds)).total_seconds() >= 600 - total - 1e-6


def present(what: str) -> Presence:
    return Presence(
        housed=2 if what == "runs" else 0,
        homeless=3,
        booting=0,
        arriving_until=after(9999) if what == "boots" else None,
        failed=None,
        full=None,
    )
