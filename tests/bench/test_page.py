"""The blocks of docs/performance.md are made of the kept raw data."""

from collections.abc import Callable
from typing import Any

import pytest

from bench.controller import report as controller
from bench.cost import report as cost
from bench.page import PAGE, block, put
from bench.train.fencing import report as fencing
from bench.train.goodput import report as goodput
from bench.train.samples import report as samples
from bench.train.survival import report as survival


@pytest.mark.parametrize(
    ("name", "render"),
    [
        ("controller", controller.table),
        ("cost", cost.block),
        ("fencing", fencing.block),
        ("goodput", goodput.block),
        ("samples", samples.block),
        ("survival", survival.block),
    ],
)
def test_a_block_is_that_of_its_data(name: str, render: Callable[[dict[str, Any]], str]) -> None:
    page = PAGE.read_text()
    assert put(page, name, block(name, render)) == page


def test_a_page_without_a_place_for_the_block_is_refused() -> None:
    with pytest.raises(ValueError, match="needs <!-- x: begin -->"):
        put("# Performance\n", "x", "text")
