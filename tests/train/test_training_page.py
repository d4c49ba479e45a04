"""docs/training.md: its diff is that of its two scripts, and its examples train."""

import difflib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Subset, TensorDataset

import spotrain.train as elastic
from tests.docs.pages import FENCE, ROOT

PAGE = ROOT / "docs" / "training.md"
EXAMPLES = ROOT / "docs" / "examples"
PLAIN, ELASTIC = EXAMPLES / "plain_ddp.py", EXAMPLES / "elastic_ddp.py"
DIFF = re.compile(r"(?<=<!-- diff: begin -->\n).*(?=<!-- diff: end -->)", re.DOTALL)
MOST_LINES = 10
BLOCKS = [code for language, code in FENCE.findall(PAGE.read_text()) if language == "python"]


def changes() -> list[str]:
    """As `diff -u` shows them, without its header."""
    plain, changed = (path.read_text().splitlines() for path in (PLAIN, ELASTIC))
    return list(difflib.unified_diff(plain, changed, lineterm="", n=1))[2:]


def test_the_page_shows_the_difference_of_its_scripts() -> None:
    block = "\n".join(["```diff", *(line for line in changes() if line[:2] != "@@"), "```", ""])
    text = PAGE.read_text()
    if os.environ.get("UPDATE"):
        PAGE.write_text(DIFF.sub(lambda _: block, text))
    assert DIFF.findall(PAGE.read_text()) == [block], "UPDATE=1 pytest writes it anew"


@pytest.mark.parametrize("sign", ["+", "-"])
def test_a_plain_script_becomes_elastic_by_ten_lines_at_most(sign: str) -> None:
    changed = [line for line in changes() if line[0] == sign and line[1:].strip()]
    assert 0 < len(changed) <= MOST_LINES


def run_script(*command: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("launcher", "script"),
    [
        pytest.param("torch.distributed.run", PLAIN, id="plain"),
        pytest.param("spotrain.agent", ELASTIC, id="elastic"),
    ],
)
def test_both_scripts_learn_the_digits(tmp_path: Path, launcher: str, script: Path) -> None:
    options = ("--standalone", "--nproc-per-node", "2", str(script))
    told = run_script(launcher, *options, folder=tmp_path)
    losses = [float(loss) for loss in re.findall(r"epoch \d: loss ([\d.]+)", told)]
    assert len(losses) == 5
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_the_pages_examples_train(tmp_path: Path, number: int) -> None:
    x = torch.randn(80, 6)
    names: dict[str, Any] = {
        "torch": torch,
        "cross_entropy": cross_entropy,
        "fully_shard": fully_shard,
        "DataLoader": DataLoader,
        "Subset": Subset,
        "data": TensorDataset(x, x[:, :3].argmax(1)),
        "val_set": TensorDataset(x[:20], x[:20, :3].argmax(1)),
        "build": lambda: nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)),
    }
    exec(BLOCKS[number], names)
    elastic.run(names["train"], output=tmp_path)
    loaded = elastic.load_checkpoint(tmp_path)
    assert loaded is not None
    assert set(loaded["tracked"]) >= {"model", "optimizer"}
