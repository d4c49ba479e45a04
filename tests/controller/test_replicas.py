"""How many workers, which indexes, who leaves first."""

import pytest

from spotrain.controller.model import PodView
from spotrain.controller.replicas import Sizing, size
from tests.controller.builders import job, node, pod, seen

NOBODY: frozenset[str] = frozenset()


def test_a_new_job_gets_all_its_workers() -> None:
    assert size(job(), seen(), leaving=NOBODY).create == (0, 1, 2)


@pytest.mark.acceptance(26, 27)
@pytest.mark.parametrize(
    ("present", "expected"),
    [
        pytest.param([pod(0), pod(1), pod(2)], (), id="all-there"),
        pytest.param([pod(0), pod(2)], (1,), id="a-gap-is-filled"),
        pytest.param([pod(2)], (0, 1), id="lowest-indexes-first"),
        pytest.param([pod(5)], (0, 1), id="a-survivor-beyond-the-range-counts"),
        pytest.param([pod(0), pod(1, deleting=True)], (2,), id="a-leaving-pod-keeps-its-index"),
        pytest.param([pod(0), pod(1), pod(2, deleting=True)], (), id="and-its-share"),
        pytest.param([pod(0), pod(1), pod(2, "Failed")], (), id="a-failed-one-waits-in-its-place"),
    ],
)
def test_missing_workers_get_the_lowest_free_indexes(
    present: list[PodView], expected: tuple[int, ...]
) -> None:
    assert size(job(), seen(*present), leaving=NOBODY).create == expected


@pytest.mark.acceptance(18, 27)
def test_a_worker_that_another_policy_removes_is_replaced_only_when_it_is_gone() -> None:
    sizing = size(job(), seen(pod(0), pod(1), pod(2)), leaving=frozenset({"uid-1"}))
    assert sizing.create == ()
    assert sizing.removals == ()


def test_a_worker_that_is_done_takes_no_share_of_what_others_leave_to_the_job() -> None:
    this, there = job(minReplicas=3), seen(pod(0, "Succeeded"), pod(1), pod(2))
    assert size(this, there, leaving=NOBODY, limit=2) == Sizing((), ())


FOUR = {"maxReplicas": 8, "worker": {"replicas": 3}}


@pytest.mark.acceptance(26)
@pytest.mark.parametrize(
    ("odd_one", "leaver"),
    [
        pytest.param({}, 3, id="the-highest-index"),
        pytest.param({"node": None, "phase": "Pending", "ready": False}, 1, id="the-unscheduled"),
        pytest.param({"ready": False}, 1, id="the-one-not-ready"),
        pytest.param({"node": "cordoned"}, 1, id="the-one-on-a-cordoned-node"),
        pytest.param({"node": "unready"}, 1, id="the-one-on-an-unready-node"),
        pytest.param({"disrupted": True}, 1, id="the-doomed-one"),
        pytest.param({"deletion_cost": -5}, 1, id="the-cheapest-to-delete"),
        pytest.param({"deletion_cost": 5}, 3, id="not-the-dearest-to-delete"),
        pytest.param({"phase": "Failed", "ready": False}, 1, id="the-failed-one"),
    ],
)
def test_scaling_down_takes_the_worker_that_does_least_good(
    odd_one: dict[str, object], leaver: int
) -> None:
    nodes = (node("node-1"), node("cordoned", cordoned=True), node("unready", ready=False))
    pods = [pod(0), pod(1, **odd_one), pod(2), pod(3)]
    sizing = size(job(**FOUR), seen(*pods, nodes=nodes), leaving=NOBODY)
    assert [removal.name for removal in sizing.removals] == [f"digits-worker-{leaver}"]
    assert sizing.create == ()


@pytest.mark.acceptance(26)
def test_unscheduled_goes_before_not_ready_before_doomed_before_the_highest_index() -> None:
    this = job(minReplicas=1, maxReplicas=8, worker={"replicas": 1})
    pods = [
        pod(0, node=None, ready=False, phase="Pending"),
        pod(1, ready=False),
        pod(2, disrupted=True),
        pod(3),
        pod(4),
    ]
    order = [r.name[-1] for r in size(this, seen(*pods), leaving=NOBODY).removals]
    assert order == ["0", "1", "2", "4"]


@pytest.mark.acceptance(26, 27)
def test_while_surplus_pods_terminate_at_their_own_speed_none_is_created() -> None:
    """Upstream refilled the low indexes here, and then deleted again: a churn without an end."""
    this = job(minReplicas=1, maxReplicas=8, worker={"replicas": 2})
    pods = [pod(0), pod(3), pod(1, deleting=True)]
    assert size(this, seen(*pods), leaving=NOBODY).create == ()
