"""What a real shell completes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spotrain.cli.local_jobs import ENV_FOLDER
from spotrain.local.shelf import Settings, Shelf
from tests.cli.documents import job

SCRIPTS = Path(sys.executable).parent


def completed(folder: Path, *words: str) -> list[str]:
    """What bash offers for the last word."""
    typed = " ".join(f"'{word}'" for word in ("spotrain", *words))
    script = f"""
        eval "$(_SPOTRAIN_COMPLETE=source_bash spotrain)"
        COMP_WORDS=({typed}) COMP_CWORD={len(words)}
        _spotrain_completion spotrain
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    environment = {
        "PATH": f"{SCRIPTS}:{os.environ['PATH']}",
        "HOME": str(folder),
        ENV_FOLDER: str(folder),
    }
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("digits", "digits-2", "words"):
        Shelf(tmp_path).add(job(name), Settings(workdir="/"))
    return tmp_path


def test_the_shell_completes_verbs_options_and_names(folder: Path) -> None:
    assert completed(folder, "st") == ["status", "stop"]
    assert completed(folder, "status", "--wat") == ["--watch"]
    assert completed(folder, "status", "--local", "dig") == ["digits", "digits-2"]


def test_without_a_cluster_nothing_is_offered_and_nothing_said(folder: Path) -> None:
    assert completed(folder, "status", "dig") == []
