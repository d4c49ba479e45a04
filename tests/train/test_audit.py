"""The audit over what a real run left behind: it holds, and it notices what was tampered with."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from spotrain import contract
from tests.train.story import SAMPLES, SCRIPTS, audit_of


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two epochs of a real run on this machine, with its sample log."""
    folder = tmp_path_factory.mktemp("trained")
    subprocess.run(
        [sys.executable, str(SCRIPTS / "session.py"), str(folder), "--epochs", "2", "--pause", "0"],
        env={**os.environ, contract.ENV_SAMPLE_LOG: str(folder / "samples")},
        check=True,
        timeout=240,
    )
    return folder


def test_a_real_run_is_exact(trained: Path) -> None:
    exact = audit_of(trained, trained / "samples")
    assert (exact.lost, exact.repeated, exact.problems, exact.epochs_checked) == (0, 0, (), 2)


@pytest.mark.parametrize("offset", [pytest.param(1, id="ahead"), pytest.param(-1, id="behind")])
def test_a_broken_cursor_fails_the_audit(trained: Path, offset: int) -> None:
    newest = max((trained / "checkpoints").glob("*.json"))
    intact = newest.read_text()
    document = json.loads(intact)
    document["epoch"], document["cursor"] = 1, SAMPLES + offset
    newest.write_text(json.dumps(document))
    try:
        exact = audit_of(trained, trained / "samples")
    finally:
        newest.write_text(intact)
    assert exact.problems


def test_a_sample_that_was_never_seen_is_counted_as_lost(trained: Path) -> None:
    log = trained / "samples" / "w000001-r00000.jsonl"
    intact = log.read_text()
    lines = intact.splitlines(keepends=True)
    record = json.loads(lines[10])
    record["ids"] = record["ids"][:-1]
    lines[10] = json.dumps(record) + "\n"
    log.write_text("".join(lines))
    try:
        exact = audit_of(trained, trained / "samples")
    finally:
        log.write_text(intact)
    assert exact.lost == 1
