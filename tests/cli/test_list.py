"""`spotrain list` as somebody sees it who sits before a terminal."""

import os
import re
from pathlib import Path

import pytest

from spotrain.cli.local_jobs import ENV_FOLDER
from spotrain.local.shelf import Settings, Shelf
from tests.cli.documents import job
from tests.cli.terminal import CTRL_C, terminal

LONG = "resnet50-imagenet-lr-0-1-seed-42"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), ENV_FOLDER: str(tmp_path)}


def add(folder: Path, name: str) -> None:
    """A job that nobody runs."""
    Shelf(folder).add(job(name), Settings(workdir="/"))


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_list_fits_the_terminal(
    tmp_path: Path, environment: dict[str, str], columns: int
) -> None:
    for name in ("digits", LONG):
        add(tmp_path, name)
    words = ("list", "--local")
    with terminal(*words, folder=tmp_path, environment=environment, columns=columns) as shown:
        assert shown.read_to_end() == 0
    lines = shown.text.splitlines()
    assert max(map(len, lines)) <= columns
    assert "".join(lines).replace(" ", "").count(LONG[:12]) == 1
    assert (LONG in shown.text) is (columns > 40)
    assert ("age" in lines[0]) is (columns > 40)


def test_a_watched_list_is_redrawn_until_ctrl_c(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    words = ("list", "--watch", "--local")
    with terminal(*words, folder=tmp_path, environment=environment) as shown:
        shown.read_until("There are no jobs")
        add(tmp_path, "digits")
        shown.read_until("digits")
        add(tmp_path, "words")
        shown.read_until("words")
        gone = Shelf(tmp_path).find("digits")
        gone.remove(gone.uid)
        shown.press(CTRL_C)
        assert shown.read_to_end() == 130
    assert "Traceback" not in shown.text
    assert re.search(r"\x1b\[\?25h", shown.raw), "the cursor stays hidden"
