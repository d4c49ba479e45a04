"""What `spotrain scale` changes, and what no job can have."""

from collections.abc import Sequence
from typing import Any

import pytest

from spotrain import contract
from spotrain.cli.errors import CONFLICT, UserError
from spotrain.cli.job_view import JobView, view
from spotrain.cli.scale import changes, plan_scale
from spotrain.job import Pool
from spotrain.local.pools import pool_of
from tests.cli.documents import job

T4: Sequence[Pool] = [pool_of("t4", gpus_per_node=1).model_copy(update={"max_nodes": 8})]
"""Eight of them in a zone."""


def seen(*, gpus: int = 1, placement: Any = None, status: Any = None, **spec: Any) -> JobView:
    """A job of 2 to 4 workers."""
    limits = {"minReplicas": 2, "maxReplicas": 4, "placement": placement or {"gpu": "t4"}}
    document = job(status=status, **{**limits, **spec})
    worker = document["spec"]["replicaSpecs"][contract.WORKER]["template"]["spec"]
    worker["containers"][0]["resources"] = {"limits": {contract.GPU_RESOURCE: gpus}}
    return view(document)


def planned(scene: JobView, gpus: int, min_gpus: int | None = None) -> Any:
    return plan_scale(scene, gpus=gpus, min_gpus=min_gpus, pools=T4)["spec"]


def size(replicas: int) -> dict[str, Any]:
    return {"replicaSpecs": {contract.WORKER: {"replicas": replicas}}}


def test_the_upper_limit_gives_way_and_the_lower_one_only_when_told() -> None:
    assert planned(seen(), 3) == size(3)
    assert planned(seen(), 8) == {**size(8), "maxReplicas": 8}
    assert planned(seen(), 1, min_gpus=1) == {**size(1), "minReplicas": 1}


@pytest.mark.parametrize(
    ("scene", "gpus", "says"),
    [
        pytest.param(seen(), 1, "--min-gpus 1", id="below-the-lower-limit"),
        pytest.param(seen(), 9, "--gpus 8 or less", id="more-than-a-zone-can-have"),
        pytest.param(seen(placement={"gpu": "h100"}), 3, "there are: t4", id="type-that-is-gone"),
        pytest.param(seen(gpus=2), 5, "a multiple of 2", id="half-a-worker"),
    ],
)
def test_a_size_that_cannot_be_is_refused(scene: JobView, gpus: int, says: str) -> None:
    with pytest.raises(UserError, match=says):
        planned(scene, gpus)


@pytest.mark.parametrize(
    "scene",
    [
        pytest.param(seen(placement={"gpu": "t4", "zone": "any"}), id="in-any-zone"),
        pytest.param(seen(gpus=0), id="without-gpus"),
    ],
)
def test_what_a_zone_can_have_limits_only_jobs_that_need_one(scene: JobView) -> None:
    assert planned(scene, 9)["maxReplicas"] == 9


def test_a_job_shrinks_whatever_has_become_of_its_pool() -> None:
    assert planned(seen(placement={"gpu": "h100"}), 2) == size(2)


def test_a_job_that_has_ended_keeps_its_size() -> None:
    ended = {"conditions": [{"type": "Failed", "status": "True", "reason": "Over"}]}
    with pytest.raises(UserError, match="any more") as refused:
        planned(seen(status=ended), 3)
    assert refused.value.exit_code == CONFLICT


def test_the_size_that_it_has_changes_nothing() -> None:
    scene = seen()
    assert scene.job
    same = plan_scale(scene, gpus=scene.job.replicas, min_gpus=None)
    assert not changes(scene.job, same)
    assert changes(scene.job, plan_scale(scene, gpus=scene.job.replicas, min_gpus=1))
    assert changes(scene.job, plan_scale(scene, gpus=scene.job.replicas + 1, min_gpus=None))
