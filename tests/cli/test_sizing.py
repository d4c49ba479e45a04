"""GPUs become workers that fit the nodes, and what the pools lack is told."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain.cli.errors import UserError
from spotrain.cli.sizing import Size, choose_size, fitting_pools
from spotrain.job import CapacityPolicy, Pool


def pool(**changes: Any) -> Pool:
    values: dict[str, Any] = {
        "name": "t4-spot",
        "gpu": "t4",
        "gpus_per_node": 1,
        "capacity": "spot",
        "zones": ("a",),
        "max_nodes": 8,
        "notice_seconds": 90,
        "on_demand_usd_per_hour": 0.5,
    }
    return Pool(**values | changes)


def fitting(
    *pools: Pool,
    gpu: str | None = None,
    gpus: int = 1,
    names: tuple[str, ...] = (),
    capacity: CapacityPolicy = "spotThenOnDemand",
) -> list[str]:
    found = fitting_pools(pools, gpu=gpu, gpus=gpus, names=names, capacity=capacity)
    return [each.name for each in found]


@pytest.mark.parametrize(
    ("per_node", "gpus", "min_gpus", "size"),
    [
        pytest.param(1, 8, None, Size(8, 1, 1), id="one-gpu-a-node"),
        pytest.param(4, 8, None, Size(2, 1, 4), id="whole-nodes"),
        pytest.param(4, 8, 4, Size(2, 1, 4), id="down-to-a-node"),
        pytest.param(4, 8, 2, Size(4, 1, 2), id="down-to-half-a-node"),
        pytest.param(4, 6, None, Size(3, 1, 2), id="no-gpu-of-a-node-is-left-over"),
        pytest.param(8, 3, None, Size(1, 1, 3), id="a-part-of-one-node"),
        pytest.param(8, 6, 2, Size(3, 1, 2), id="a-part-of-one-node-that-shrinks"),
        pytest.param(8, 8, 8, Size(1, 1, 8), id="one-node-or-nothing"),
        pytest.param(0, 4, 2, Size(4, 2, 0), id="workers-without-gpus"),
    ],
)
def test_a_number_of_gpus_becomes_workers(
    per_node: int, gpus: int, min_gpus: int | None, size: Size
) -> None:
    pools = [pool(gpus_per_node=per_node)]
    assert choose_size(pools, gpus=gpus, min_gpus=min_gpus) == size


@given(
    per_node=st.integers(1, 16), gpus=st.integers(1, 256), min_gpus=st.none() | st.integers(1, 256)
)
def test_workers_have_exactly_the_gpus_asked_for_and_each_fits_a_node(
    per_node: int, gpus: int, min_gpus: int | None
) -> None:
    pools = [pool(gpus_per_node=per_node), pool(name="larger", gpus_per_node=2 * per_node)]
    if min_gpus is not None and min_gpus > gpus:
        with pytest.raises(UserError):
            choose_size(pools, gpus=gpus, min_gpus=min_gpus)
        return
    size = choose_size(pools, gpus=gpus, min_gpus=min_gpus)
    assert size.workers * size.gpus_per_worker == gpus
    assert 1 <= size.gpus_per_worker <= per_node
    assert size.min_workers * size.gpus_per_worker == (min_gpus or size.gpus_per_worker)
    if gpus > per_node:
        assert per_node % size.gpus_per_worker == 0


def test_the_only_gpu_type_need_not_be_named() -> None:
    assert fitting(pool(), pool(name="twin", capacity="on-demand")) == ["t4-spot", "twin"]


def test_a_pool_that_is_too_small_is_left_out_as_long_as_another_is_not() -> None:
    large = pool(name="large", max_nodes=64)
    assert fitting(pool(), large, gpus=9) == ["large"]


def test_capacity_and_names_narrow_the_choice() -> None:
    twin = pool(name="twin", capacity="on-demand")
    assert fitting(pool(), twin, capacity="onDemand") == ["twin"]
    assert fitting(pool(), twin, names=("t4-spot",)) == ["t4-spot"]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        pytest.param({"gpu": "h100"}, "there are: a10g, t4", id="unknown-type"),
        pytest.param({}, "--gpu-type: a10g, t4", id="which-type"),
        pytest.param({"gpu": "t4", "gpus": 9}, "t4-spot 8", id="too-many"),
        pytest.param({"names": ("x",)}, "there are: t4-spot, a10g-spot", id="unknown-pool"),
        pytest.param({"gpu": "t4", "capacity": "onDemand"}, "onDemand", id="no-capacity"),
    ],
)
def test_what_no_pool_has_is_told_with_what_there_is(asked: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        fitting(pool(), pool(name="a10g-spot", gpu="a10g"), **asked)


def test_a_platform_without_pools_says_so() -> None:
    with pytest.raises(UserError, match="no pools"):
        fitting()
