"""What the pools have, what of it is free, and what it costs."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from spotrain import contract
from spotrain.cli.gpus import tabulate
from spotrain.cli.market import PoolView, view_pools
from spotrain.cli.output import show
from spotrain.job import PRICE_HOURS, Price
from spotrain.kinds import Object
from tests.cli.test_sizing import pool

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def node(name: str, pool: str = "t4-spot", *, gpus: int = 4, ready: bool = True) -> Object:
    return {
        "metadata": {"name": name, "labels": {contract.LABEL_POOL: pool}},
        "spec": {},
        "status": {
            "allocatable": {contract.GPU_RESOURCE: str(gpus)},
            "conditions": [{"type": "Ready", "status": str(ready)}],
        },
    }


def pod(node: str, *, gpus: int = 1, phase: str = "Running") -> Object:
    container = {"name": "x", "resources": {"limits": {contract.GPU_RESOURCE: str(gpus)}}}
    return {"spec": {"nodeName": node, "containers": [container]}, "status": {"phase": phase}}


def price(usd: float, zone: str = "a", *, age_hours: float = 0) -> Price:
    at = NOW - timedelta(hours=age_hours)
    return Price(pool="t4-spot", zone=zone, instance_type="some.type", spot_usd_per_hour=usd, at=at)


def seen(**objects: Any) -> PoolView:
    given: dict[str, Any] = {"prices": [], "nodes": [], "pods": [], **objects}
    (found,) = view_pools([pool(gpus_per_node=4, zones=("a", "b"))], now=NOW, **given)
    return found


def test_free_are_gpus_of_ready_nodes_that_no_pod_has() -> None:
    nodes = [node("n1"), node("n2"), node("n3", ready=False), node("n4", pool="another")]
    pods = [pod("n1", gpus=3), pod("n2", gpus=4, phase="Succeeded"), pod("n4", gpus=4)]
    found = seen(nodes=nodes, pods=pods)
    assert (found.gpus, found.free, found.most) == (8, 5, 64)


def test_the_price_is_that_of_a_gpu_in_the_cheapest_zone() -> None:
    found = seen(prices=[price(0.8, "a"), price(0.4, "b")])
    assert (found.usd_now, found.usd_list, found.is_told) == (0.1, 0.125, True)


@pytest.mark.parametrize("prices", [[], [price(0.4, age_hours=PRICE_HOURS + 1)]])
def test_without_a_fresh_price_that_of_the_platform_stands_and_is_marked(
    prices: list[Price], capsys: pytest.CaptureFixture[str]
) -> None:
    found = seen(prices=prices)
    assert (found.usd_now, found.is_told) == (0.125, False)
    show(tabulate([found]))
    assert "0.125*" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("width", "titles"),
    [
        pytest.param(80, "gpu pool zones a node now free at most $ now $ list", id="all"),
        pytest.param(50, "gpu pool zones now free at most $ now", id="narrow"),
    ],
)
def test_no_number_is_cut_off_in_a_narrow_terminal(width: int, titles: str) -> None:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(tabulate([seen()]))
    lines = captured.get().splitlines()
    assert " ".join(lines[1].split()) == titles
    assert max(map(len, lines)) <= width
    assert "64" in lines[3].split()
    assert "0.125*" in lines[3].split()
