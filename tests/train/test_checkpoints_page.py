"""The examples of docs/checkpoints.md do what the page says."""

import re
from pathlib import Path
from typing import Any

import torch
from torch import nn

import spotrain.train as elastic
from tests.docs.pages import FENCE, ROOT

PAGE = (ROOT / "docs" / "checkpoints.md").read_text()


def examples() -> list[str]:
    return [code for language, code in FENCE.findall(PAGE) if language == "python"]


def test_a_model_is_taken_out_as_the_page_says(tmp_path: Path) -> None:
    trained = nn.Linear(3, 2)
    state = {"tracked": {"model": trained.state_dict()}}
    elastic.save_checkpoint(state, tmp_path, step=1)
    (code,) = [code for code in examples() if code.startswith("from spotrain.train import")]
    names: dict[str, Any] = {"model": nn.Linear(3, 2)}
    exec(code.replace("/mnt/efs/output/run1", str(tmp_path)), names)
    assert torch.equal(names["model"].weight, trained.weight)


def test_the_page_shows_the_files_that_a_checkpoint_has(tmp_path: Path) -> None:
    elastic.save_checkpoint({"weights": torch.zeros(3)}, tmp_path, step=1)
    (folder,) = (tmp_path / "checkpoints").glob("w*-s*.*/")
    for file in folder.iterdir():
        assert f"        {file.name} " in PAGE


def test_the_names_in_the_pages_loop_exist() -> None:
    (loop,) = [code for code in examples() if "should_stop" in code]
    for name in re.findall(r"elastic\.(\w+)", loop):
        assert hasattr(elastic, name)
    for name in re.findall(r"run\.(\w+)\(", loop):
        assert hasattr(elastic.Run, name)
