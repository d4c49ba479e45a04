"""A constant step: what is trained does not depend on how many workers there were."""

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch

from spotrain import contract
from spotrain.ledger.exactness import read_sample_log
from spotrain.worlds import Limits, Reason
from tests.train.fleet import fleet
from tests.train.story import SAMPLES, grows_to_three, reaches_its_end, shrinks_to_one

SCRIPT = Path(__file__).parent / "scripts" / "constant_step.py"
LIMITS = Limits(min_size=1, max_size=3, desired_size=2, growth_delay_seconds=0.2, max_restarts=0)
STEP = 57
ROUNDING = 1e-9
"""Relative: sums of doubles in another order, over thousands of steps. A sample of weight 1/57 that
counts twice, or not at all, shows at 1e-2."""


async def test_two_then_three_workers_then_one_train_what_one_alone_does(tmp_path: Path) -> None:
    changing, alone = tmp_path / "changing", tmp_path / "alone"
    changing.mkdir()
    async with fleet(changing, [str(SCRIPT), str(changing / "out")], LIMITS) as job:
        await grows_to_three(job)
        await shrinks_to_one(job)
        report, exact = await reaches_its_end(job)
    sizes = [chapter.size for chapter in report.history]
    assert (sizes[0], max(sizes), sizes[-1]) == (2, 3, 1)
    assert Reason.LOSS in {chapter.reason for chapter in report.history}
    run_alone(alone, epochs=exact.epochs_checked)

    steps = taken(changing)
    assert steps == taken(alone)
    assert len(steps) == exact.epochs_checked * -(-SAMPLES // STEP)
    assert {len(ids) for ids, _ in steps.values()} == {STEP, SAMPLES % STEP}
    torch.testing.assert_close(
        weights_of(changing), weights_of(alone), rtol=ROUNDING, atol=ROUNDING
    )


def run_alone(folder: Path, *, epochs: int) -> None:
    environment = {**os.environ, contract.ENV_SAMPLE_LOG: str(folder / "samples")}
    command = [sys.executable, str(SCRIPT), str(folder / "out"), "--epochs", str(epochs)]
    subprocess.run(command, env=environment, check=True, timeout=240)


def taken(folder: Path) -> dict[int, tuple[set[int], dict[str, Any]]]:
    """Step -> its samples, and its place in epoch and schedule, as they counted in the end.

    A step that a loss has undone was taken again by a later world, which holds.
    """
    worlds: dict[int, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for record in read_sample_log(folder / "samples"):
        new = record.ids[: len(record.ids) - record.padding]
        worlds[record.step][record.world].update(new)
    lines = (folder / "out" / "steps.jsonl").read_text().splitlines()
    places = {place["step"]: place for place in map(json.loads, lines)}
    assert places.keys() == worlds.keys()
    return {step: (worlds[step][max(worlds[step])], places[step]) for step in sorted(places)}


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    weights = json.loads((folder / "out" / "weights.json").read_text())
    return {name: torch.tensor(values, dtype=torch.float64) for name, values in weights.items()}
