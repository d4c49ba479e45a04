"""What is kept of each benchmark: raw data, its block of docs/performance.md, and a figure.

python -m bench.kept    # blocks and figures anew, from the raw data that is there
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from bench import page
from bench.command import report as command
from bench.controller import report as controller
from bench.coordinator import report as coordinator
from bench.cost import report as cost
from bench.figure import Picture, save
from bench.page import FIGURES, NOT_MEASURED, PAGE, RESULTS
from bench.train.checkpoint import report as checkpoint
from bench.train.fencing import report as fencing
from bench.train.goodput import report as goodput
from bench.train.interruptions import report as interruptions
from bench.train.sampler import report as sampler
from bench.train.samples import report as samples
from bench.train.step_cost import report as step_cost
from bench.train.survival import report as survival

Found = dict[str, Any]
"""Raw data, as bench/results holds it."""


@dataclass(frozen=True)
class Shown:
    """How a benchmark's raw data is shown to people."""

    block: Callable[[Found], str]
    figure: Callable[[Found], Picture]


SHOWN: Final[Mapping[str, Shown]] = {
    "controller": Shown(controller.table, controller.figure),
    "coordinator": Shown(coordinator.block, coordinator.figure),
    "command": Shown(command.block, command.figure),
    "checkpoint": Shown(checkpoint.block, checkpoint.figure),
    "loss": Shown(interruptions.loss, partial(interruptions.figure, "loss")),
    "notice": Shown(
        partial(interruptions.planned, "notice"), partial(interruptions.figure, "notice")
    ),
    "growth": Shown(
        partial(interruptions.planned, "growth"), partial(interruptions.figure, "growth")
    ),
    "step-cost": Shown(step_cost.block, step_cost.figure),
    "samples": Shown(samples.block, samples.figure),
    "sampler": Shown(sampler.block, sampler.figure),
    "fencing": Shown(fencing.block, fencing.figure),
    "survival": Shown(survival.block, survival.figure),
    "goodput": Shown(goodput.block, goodput.figure),
    "cost": Shown(cost.block, cost.figure),
}


def keep(name: str, found: Found, *, dry_run: bool = False) -> None:
    """Print the block of a measurement; unless `dry_run`, keep all there is to keep of it."""
    print(SHOWN[name].block(found))
    if not dry_run:
        RESULTS.mkdir(exist_ok=True)
        lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items()]
        (RESULTS / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
        show(name)


def show(name: str) -> None:
    """Write the block and the figure of raw data that was kept."""
    PAGE.write_text(page.put(PAGE.read_text(), name, shown(name)))
    if found := read(name):
        save(SHOWN[name].figure(found), name, FIGURES)


def shown(name: str) -> str:
    """What belongs between the markers of `name`."""
    found = read(name)
    if found is None:
        return NOT_MEASURED
    title = SHOWN[name].figure(found).title
    return f"{SHOWN[name].block(found)}\n\n![{title}](figures/{name}.svg)"


def read(name: str) -> Found | None:
    """None: not measured yet."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


if __name__ == "__main__":
    for each in SHOWN:
        show(each)
