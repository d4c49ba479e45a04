"""An order: what a person typed, and what was chosen for them."""

from typing import Any

import pytest

from spotrain import contract
from spotrain.cli.order import Order, Preparation
from spotrain.cli.sizing import Size
from spotrain.job import Pool


def pool(name: str, gpu: str) -> Pool:
    return Pool(
        name=name,
        gpu=gpu,
        gpus_per_node=1,
        capacity="spot",
        zones=("a",),
        instance_types=("some.type",),
        max_nodes=4,
        notice_seconds=90,
        on_demand_usd_per_hour=1.0,
    )


@pytest.mark.parametrize(
    ("pools", "local", "says"),
    [
        pytest.param(["t4-spot"], False, "2 workers of 1 GPU (t4, pool t4-spot)", id="one"),
        pytest.param(["a", "b"], False, "2 workers of 1 GPU (t4, pools a or b)", id="several"),
        pytest.param(["t4-local"], True, "2 workers of 1 GPU (t4)", id="here"),
    ],
)
def test_what_was_chosen_is_told(pools: list[str], local: bool, says: str) -> None:
    there = [pool(name, "t4") for name in pools]
    assert prepared(pools=there, size=Size(2, 1, 1), is_local=local).wording == says


def test_without_gpus_only_the_pool_is_told() -> None:
    there = [pool("cpu", contract.NO_GPU)]
    assert prepared(pools=there, size=Size(2, 1, 0)).wording == "2 workers (pool cpu)"
    assert prepared(pools=there, size=Size(2, 1, 0), is_local=True).wording == "2 workers"


def prepared(**values: Any) -> Preparation:
    target: Any = None  # nobody is asked
    return Preparation(order=Order(gpus=2), target=target, **values)
