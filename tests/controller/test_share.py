"""Who gets the GPUs of a full pool, and of a researcher's allowance."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain.controller.board import Board, Claim, ScaleUp
from spotrain.controller.model import Observed
from spotrain.controller.reconcile import reconcile
from spotrain.controller.share import Share, room_for_least, share, workers_beside
from spotrain.controller.status import Condition, JobStatus, OfferStatus
from tests.controller.builders import NOW, after, created, deleted, job, pod, pool, reasons, seen

PLACE = "t4-spot/a"


def claim(name: str, **changes: Any) -> Claim:
    values: dict[str, Any] = {
        "job": name,
        "place": PLACE,
        "researcher": "",
        "priority": 0,
        "since": NOW,
        "gpus_per_worker": 1,
        "started": False,
        "least": 2,
        "housed": 0,
        "held": 0,
        "wanted": 4,
    }
    return Claim(**values | changes)


def runs(name: str, workers: int, **changes: Any) -> Claim:
    return claim(name, **{"housed": workers, "held": workers, "started": True, **changes})


def test_alone_a_job_may_have_every_gpu() -> None:
    assert share(claim("a"), [], 8).limit == 8


@pytest.mark.acceptance(28)
def test_a_waiting_job_is_served_before_a_running_one_grows() -> None:
    grows, waits = runs("a", 4, held=8, wanted=8), claim("b", since=after(60))
    assert share(grows, [waits], 8).limit == 6, "its pods without a node make room"
    assert share(waits, [replace(grows, held=6)], 8).limit == 2


def test_no_running_worker_is_taken_for_a_waiting_job() -> None:
    large, waits = runs("a", 8, wanted=8), claim("b")
    assert share(large, [waits], 8).limit == 8
    assert share(waits, [large], 8) == Share(0, ahead=1, is_in_line=True)


def test_of_two_that_wait_and_do_not_both_fit_the_older_goes_first() -> None:
    """Each holds half of what both need: nobody would ever train."""
    older = claim("a", least=4, housed=3, held=4)
    younger = claim("b", least=4, housed=3, held=4, since=after(1))
    assert share(younger, [older], 6).is_in_line
    assert share(older, [younger], 6).limit >= 4


def test_whose_turn_it_is_waits_until_the_others_have_let_go_and_goes_nowhere_else() -> None:
    """Its pods would be promised GPUs that another's pods may still get."""
    first, second = claim("a", least=4), claim("b", least=4, held=6, since=after(1))
    assert share(first, [second], 6) == Share(0, ahead=0, is_in_line=False)
    assert room_for_least(first, [second], 6, preempts=False)


def test_a_job_that_was_interrupted_keeps_its_turn() -> None:
    older = claim("a", least=4)
    interrupted = claim("b", least=4, started=True, since=after(60))
    assert share(older, [interrupted], 6).is_in_line
    assert not share(interrupted, [older], 6).is_in_line


def test_a_more_important_job_goes_first_and_lesser_ones_are_in_nobodys_way_there() -> None:
    lesser = runs("a", 8, priority=-1)
    high = claim("b", priority=1)
    assert share(high, [lesser], 8, preempts=True).limit == 8, "the scheduler drives them out"
    assert share(high, [lesser], 8).is_in_line, "a researcher's allowance knows no preemption"
    assert share(lesser, [high], 8, preempts=True).limit == 8, "what runs is not ours to stop"


def test_where_the_autoscaler_gets_no_more_nodes_nobody_grows_while_another_waits() -> None:
    waits = claim("b", starved=True)
    assert share(runs("a", 3, held=5), [waits], 100) == Share(3, ahead=1)
    assert share(runs("a", 3, held=5), [replace(waits, starved=False)], 100).limit > 5


def test_workers_without_gpus_are_not_counted() -> None:
    assert share(claim("a", gpus_per_worker=0), [runs("b", 99)], 4).limit == float("inf")


@pytest.mark.parametrize(
    ("gpus_per_worker", "least", "others", "limit"),
    [
        pytest.param(3, 1, [], 5, id="one-gpu-of-each-node-is-left-over"),
        pytest.param(2, 1, [runs("x", 5, gpus_per_worker=3)], 0, id="gaps-of-one-hold-no-two"),
        pytest.param(4, 2, [runs("x", 12)], 2, id="small-workers-share-nodes"),
        pytest.param(4, 2, [runs("x", 13)], 0, id="three-free-gpus-are-no-four"),
        pytest.param(1, 1, [runs("x", 5, gpus_per_worker=3)], 5, id="small-workers-fill-gaps"),
        pytest.param(8, 1, [], 0, id="larger-than-a-node"),
    ],
)
def test_the_gpus_of_a_worker_are_all_in_one_node(
    gpus_per_worker: int, least: int, others: list[Claim], limit: int
) -> None:
    """20 GPUs, in five nodes of four."""
    mine = claim("a", gpus_per_worker=gpus_per_worker, least=least)
    found = share(mine, others, 20, gpus_per_node=4)
    assert (found.limit, found.is_in_line) == (limit, limit == 0)


@given(
    st.dictionaries(st.integers(1, 8), st.integers(0, 9), max_size=4),
    st.integers(1, 8),
    st.sampled_from([1, 2, 4, 8]),
    st.integers(0, 9),
)
def test_nodes_never_hold_more_than_their_gpus_and_one_more_node_never_less(
    taken: dict[int, int], each: int, gpus_per_node: int, nodes: int
) -> None:
    gpus = nodes * gpus_per_node
    found = workers_beside(taken, each, gpus, gpus_per_node)
    alone = workers_beside({}, each, gpus, gpus_per_node)
    assert found <= alone == nodes * (gpus_per_node // each)
    fitting = {size: workers for size, workers in taken.items() if size <= gpus_per_node}
    if sum(fitting.values()) <= nodes:  # each may have a node for itself
        assert found * each + sum(size * workers for size, workers in fitting.items()) <= gpus
    assert workers_beside(taken, each, gpus + gpus_per_node, gpus_per_node) >= found


CLAIMS = st.lists(
    st.builds(
        lambda least, extra, gpus, priority, since: claim(
            "",
            least=least,
            wanted=least + extra,
            gpus_per_worker=gpus,
            priority=priority,
            since=after(since),
        ),
        st.integers(1, 4),
        st.integers(0, 4),
        st.sampled_from([1, 1, 2, 4]),
        st.sampled_from([0, 0, 0, 1]),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=6,
)
MOVES = st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["look", "node"])), max_size=60)


PLACES = st.one_of(
    st.tuples(st.integers(1, 12), st.just(0)), st.sampled_from([(4, 4), (8, 4), (12, 4), (8, 8)])
)
"""GPUs, and how many of them are in one node; 0: they may come from anywhere."""


def step(claims: list[Claim], index: int, what: str, gpus: int, gpus_per_node: int) -> list[Claim]:
    """One job looks and acts, or the scheduler gives one of its pods a node if there is room."""
    mine, others = claims[index], claims[:index] + claims[index + 1 :]
    if what == "node":
        housed = Counter[int]()
        for each in claims:
            housed[each.gpus_per_worker] += each.housed
        has_room = workers_beside(housed, mine.gpus_per_worker, gpus, gpus_per_node) > 0
        if mine.housed < mine.held and has_room:
            mine = replace(mine, housed=mine.housed + 1, started=mine.housed + 1 >= mine.least)
    else:
        limit = share(mine, others, gpus, gpus_per_node=gpus_per_node).limit
        held = int(min(mine.wanted, limit))
        mine = replace(mine, held=held, housed=min(mine.housed, held))
    return [*claims[:index], mine, *claims[index + 1 :]]


@given(CLAIMS, PLACES, MOVES)
def test_no_order_of_looks_promises_a_gpu_twice_or_takes_one_from_who_trains(
    claims: list[Claim], place: tuple[int, int], moves: list[tuple[int, str]]
) -> None:
    gpus, gpus_per_node = place
    claims = [replace(each, job=str(number)) for number, each in enumerate(claims)]
    for index, what in moves:
        before = claims
        claims = step(claims, index % len(claims), what, gpus, gpus_per_node)
        assert sum(each.held * each.gpus_per_worker for each in claims) <= gpus
        for old, new in zip(before, claims, strict=True):
            assert old.is_waiting or new.housed >= old.housed


@given(CLAIMS, PLACES, MOVES)
def test_whoever_can_start_starts_in_the_end_and_nobody_holds_what_does_not_train(
    claims: list[Claim], place: tuple[int, int], moves: list[tuple[int, str]]
) -> None:
    """Left alone, jobs come to rest: no two wait for each other."""
    gpus, gpus_per_node = place
    claims = [replace(each, job=str(number)) for number, each in enumerate(claims)]
    for index, what in moves:
        claims = step(claims, index % len(claims), what, gpus, gpus_per_node)
    for _ in range(4 * gpus + 8):
        for index in range(len(claims)):
            claims = step(claims, index, "look", gpus, gpus_per_node)
            claims = step(claims, index, "node", gpus, gpus_per_node)
    waiting = [each for each in claims if each.is_waiting]
    assert all(each.held == 0 for each in waiting)
    if waiting:
        first = min(waiting, key=lambda each: sum(o.goes_before(each) for o in waiting))
        others = [each for each in claims if each is not first]
        housed = Counter[int]()
        for each in others:
            housed[each.gpus_per_worker] += each.housed
        assert workers_beside(housed, first.gpus_per_worker, gpus, gpus_per_node) < first.least
        assert not room_for_least(first, others, gpus, gpus_per_node=gpus_per_node, preempts=False)


# --- The same through reconcile ---------------------------------------------------------------
SMALL = pool("t4-spot", max_nodes=4, zones=("a",))
OTHER = pool("t4-more", max_nodes=4, zones=("a",), spot_usd_per_hour=0.3)


def running(this: Any, *pods: Any, others: tuple[Claim, ...], **board: Any) -> Observed:
    status = JobStatus(
        offer=OfferStatus("t4-spot", "a", NOW), conditions=(Condition("Running", "True"),)
    )
    return seen(*pods, pools=(SMALL,), status=status, board=Board(claims=others, **board))


def gpu_job(**spec: Any) -> Any:
    limits = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    template = {"spec": {"containers": [{"name": "w", "image": "i", **limits}]}}
    worker = {"template": template, **spec.pop("worker", {})}
    return job(worker=worker, placement={"gpu": "t4"}, **{"minReplicas": 2, **spec})


def test_a_running_job_withdraws_its_waiting_pods_and_says_why() -> None:
    pods = (pod(0), pod(1), pod(2, "Pending", node=None, unschedulable="no node"))
    plan = reconcile(gpu_job(), running(gpu_job(), *pods, others=(claim("x"),)), NOW)
    assert deleted(plan) == ["digits-worker-2"]
    condition = plan.status.condition("Running")
    assert condition
    assert condition.status == "True"
    assert "other jobs hold the rest, or need it to start" in condition.message


def test_a_job_whose_place_is_taken_waits_without_pods_and_says_for_whom() -> None:
    observed = seen(pools=(SMALL,), board=Board(claims=(runs("x", 3),)))
    plan = reconcile(gpu_job(), observed, NOW)
    assert created(plan) == []
    assert reasons(plan) == ["OfferChosen", "PlaceTaken"]
    again = reconcile(gpu_job(), replace(observed, status=plan.status), after(30))
    assert (again.status, again.events) == (plan.status, ())
    freed = replace(observed, status=plan.status, board=Board())
    assert created(reconcile(gpu_job(), freed, after(60))) == [0, 1, 2]


def test_a_place_with_room_is_chosen_before_a_cheaper_one_that_is_taken() -> None:
    observed = seen(pools=(SMALL, OTHER), board=Board(claims=(runs("x", 3),)))
    plan = reconcile(gpu_job(), observed, NOW)
    assert plan.status.offer
    assert plan.status.offer.pool == "t4-more"


def test_a_job_whose_place_was_taken_from_it_goes_to_one_with_room() -> None:
    first = reconcile(gpu_job(), seen(pools=(SMALL,)), NOW)
    older = claim("x", least=3, since=after(-9999))
    crowded = seen(
        pools=(SMALL, OTHER),
        status=first.status,
        board=Board(claims=(older,), since=after(-1)),
    )
    plan = reconcile(gpu_job(), crowded, after(1))
    assert plan.status.offer
    assert plan.status.offer.pool == "t4-more"
    assert plan.status.offer_history[0].reason == "PlaceTaken"


def test_a_researcher_holds_no_more_gpus_than_allowed() -> None:
    mine = gpu_job()
    other = runs("x", 3, place="elsewhere/b")
    board = Board(claims=(other,), max_gpus=5, since=after(60))
    plan = reconcile(mine, seen(pools=(SMALL,), board=board), NOW)
    assert created(plan) == [0, 1], "3 of 5 are held by the other job"
    full = reconcile(mine, seen(pools=(SMALL,), board=replace(board, max_gpus=4)), NOW)
    assert created(full) == []
    condition = full.status.condition("Running")
    assert condition
    assert condition.reason == "ResearcherLimit"
    assert "may hold 4 at a time" in condition.message
    assert "It starts when others of theirs have ended" in condition.message


def test_a_job_larger_than_the_allowance_is_told_that_it_can_never_start() -> None:
    plan = reconcile(gpu_job(), seen(pools=(SMALL,), board=Board(max_gpus=1)), NOW)
    condition = plan.status.condition("Running")
    assert condition
    assert "It can never start: lower minReplicas" in condition.message


def test_another_researchers_jobs_do_not_count() -> None:
    other = runs("x", 3, place="elsewhere/b", researcher="anna")
    plan = reconcile(gpu_job(), seen(pools=(SMALL,), board=Board(claims=(other,), max_gpus=3)), NOW)
    assert created(plan) == [0, 1, 2]


def test_a_refusal_of_the_api_server_is_told_once_and_is_no_fault_of_the_place() -> None:
    refusal = "exceeded quota: gpus, requested: 1, used: 2, limited: 2"
    observed = seen(pools=(SMALL, OTHER), board=Board(refusal=refusal))
    plan = reconcile(gpu_job(), observed, NOW)
    condition = plan.status.condition("Running")
    assert condition
    assert (condition.reason, refusal in condition.message) == ("QuotaExceeded", True)
    assert "QuotaExceeded" in reasons(plan)
    board = Board(refusal=refusal.replace("used: 2", "used: 1"))
    later = reconcile(gpu_job(), replace(observed, status=plan.status, board=board), after(86400))
    assert reasons(later) == []
    assert later.status.offer == plan.status.offer


def test_what_the_autoscaler_says_is_told() -> None:
    word = ScaleUp("full", "1 max node group size reached", NOW)
    waits = [pod(i, "Pending", node=None, unschedulable="0/9 nodes") for i in range(3)]
    board = Board(scale_ups={"uid-1": word})
    plan = reconcile(gpu_job(), seen(*waits, pools=(SMALL,), board=board), NOW)
    condition = plan.status.condition("Running")
    assert condition
    assert "The autoscaler: 1 max node group size reached" in condition.message
