"""When a job has succeeded, and when not: real agents and ranks that end in ordinary ways."""

from dataclasses import replace
from pathlib import Path

import pytest

from spotrain import contract
from spotrain.coordinator.report import JobReport
from spotrain.worlds import Limits
from tests.train.fleet import fleet
from tests.train.story import SCRIPTS

LIMITS = Limits(min_size=2, max_size=2, desired_size=2, max_restarts=0)


async def outcome_of(folder: Path, kind: str, way: str, *, restarts: int = 0) -> JobReport:
    """The report of a job of two agents once it is over; their exit codes agree with it."""
    command = [str(SCRIPTS / "endings.py"), str(folder / "out"), kind, way]
    async with fleet(folder, command, replace(LIMITS, max_restarts=restarts)) as job:
        await job.start("a")
        await job.start("b")
        report = await job.until(lambda report: report.outcome != "")
        codes = {await job.exit_code("a"), await job.exit_code("b")}
    expected = contract.EXIT_OK if report.outcome == "succeeded" else contract.EXIT_FAILED
    assert codes == {expected}
    return report


def ended(folder: Path) -> set[str]:
    """Ranks that came to the end of the script."""
    return {path.name.split("-")[1] for path in (folder / "out").glob("ended-*")}


@pytest.mark.parametrize("kind", ["elastic", "plain"])
async def test_a_job_whose_ranks_all_end_has_succeeded(tmp_path: Path, kind: str) -> None:
    report = await outcome_of(tmp_path, kind, "normal")
    assert (report.outcome, report.restarts) == ("succeeded", 0)
    assert ended(tmp_path) == {"0", "1"}


@pytest.mark.parametrize("kind", ["elastic", "plain"])
async def test_a_rank_that_fails_after_its_peer_has_ended_fails_the_job(
    tmp_path: Path, kind: str
) -> None:
    report = await outcome_of(tmp_path, kind, "disk-full", restarts=1)
    assert (report.outcome, report.restarts) == ("failed", 2)
    assert "No space left on device: 'model.pt'" in report.message


@pytest.mark.parametrize("way", ["exit", "os-exit", "return"])
@pytest.mark.parametrize("kind", ["elastic", "plain"])
async def test_a_rank_that_leaves_while_others_train_fails_the_job(
    tmp_path: Path, kind: str, way: str
) -> None:
    report = await outcome_of(tmp_path, kind, way)
    assert report.outcome == "failed"
    if kind == "elastic":
        named = "rank 1 returned from train after step 5" if way != "os-exit" else "local rank 0 "
        assert report.message.startswith(named)
    else:
        assert "(after b had finished)" in report.message or "Connection" in report.message


@pytest.mark.parametrize("kind", ["elastic", "plain"])
async def test_the_verdict_is_the_first_ranks_error_and_not_what_its_peers_see(
    tmp_path: Path, kind: str
) -> None:
    report = await outcome_of(tmp_path, kind, "value-error")
    assert report.outcome == "failed"
    assert "ValueError: label 11 is out of range" in report.message


async def test_an_exit_with_0_in_training_saves_as_a_return_does(tmp_path: Path) -> None:
    report = await outcome_of(tmp_path, "elastic", "all-exit-0")
    assert (report.outcome, report.restarts) == ("succeeded", 0)
    assert report.history[-1].committed_step == 5


async def test_an_exit_with_another_code_in_training_is_a_failure(tmp_path: Path) -> None:
    report = await outcome_of(tmp_path, "elastic", "all-exit-3")
    assert report.outcome == "failed"
    assert "ended with code 3" in report.message
