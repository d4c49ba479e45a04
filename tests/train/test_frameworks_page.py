"""What docs/frameworks.md shows is what a script needs, and it trains."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from spotrain.train import load_checkpoint
from tests.docs.pages import FENCE, ROOT

L = pytest.importorskip("lightning", reason="the extra `lightning` is not installed")

PAGE = (ROOT / "docs" / "frameworks.md").read_text()


def diff_of(framework: str) -> str:
    """The change that the page shows for a framework."""
    diffs: list[str] = [code for language, code in FENCE.findall(PAGE) if language == "diff"]
    (diff,) = [diff for diff in diffs if f"spotrain.train.{framework}" in diff]
    return diff


def changed(diff: str) -> str:
    """The script after the change that a diff shows."""
    return "\n".join(line[1:] for line in diff.splitlines() if not line.startswith("-"))


class Digits(L.LightningModule):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def training_step(self, batch: Any, _: int) -> torch.Tensor:
        (x,) = batch
        return nn.functional.mse_loss(self.layer(x), x.sum(1, keepdim=True))

    def validation_step(self, batch: Any, _: int) -> None:
        self.log("error", self.training_step(batch, 0).detach(), sync_dist=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore")  # Lightning warns of what a tiny example lacks
def test_the_lightning_script_of_the_page_trains_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # Lightning's own logs
    diff = diff_of("lightning")
    loader = DataLoader(TensorDataset(torch.randn(16, 4)), batch_size=4)
    names = {"Digits": Digits, "train_loader": loader, "val_loader": loader}
    environment = dict(os.environ)
    try:
        exec(changed(diff).replace("/mnt/efs/output/run1", str(tmp_path / "out")), names)
    finally:
        os.environ.clear()
        os.environ.update(environment)
    state = load_checkpoint(tmp_path / "out")
    assert state is not None
    progress = state["tracked"]["trainer"]["loops"]["fit_loop"]["epoch_progress"]
    assert progress["total"]["completed"] == 20
    assert state["tracked"]["trainer"]["global_step"] == 80


@pytest.mark.parametrize(
    ("framework", "script", "used"),
    [
        pytest.param("lightning", "lightning_digits.py", "=ElasticStrategy(run)", id="lightning"),
        pytest.param("huggingface", "huggingface_tiny.py", "= ElasticTrainer(", id="huggingface"),
    ],
)
def test_the_whole_script_that_the_page_names_has_these_lines(
    framework: str, script: str, used: str
) -> None:
    assert f"training-image/{script}" in PAGE
    text = (ROOT / "training-image" / script).read_text()
    for line in re.findall(r"^\+((?:import|from) .*)$", diff_of(framework), re.MULTILINE):
        assert line in text
    assert used in text
