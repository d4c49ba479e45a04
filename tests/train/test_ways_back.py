"""Each way back into training is taken where it may be, and the next one where it may not."""

import re
from pathlib import Path

import pytest

from spotrain import contract
from spotrain.worlds import Limits
from tests.train.fleet import fleet
from tests.train.story import SCRIPTS, session

LIMITS = Limits(min_size=1, max_size=2, desired_size=2, growth_delay_seconds=0.2, max_restarts=0)


@pytest.mark.parametrize(
    ("ways", "calls", "processes"),
    [
        pytest.param("in-place, call-again, warm", 2, 1, id="growth-in-place-loss-called-again"),
        pytest.param("call-again, warm", 3, 1, id="called-again"),
        pytest.param("warm", 3, 3, id="warm"),
    ],
)
async def test_a_survivor_of_growth_and_loss_comes_back(
    tmp_path: Path, ways: str, calls: int, processes: int
) -> None:
    async with fleet(tmp_path, session(tmp_path), LIMITS) as job:
        job.environment = {contract.ENV_WAYS_BACK: ways}
        await job.start("a")
        await job.until_step(3, size=1)
        await job.start("b")
        await job.until_step(3, size=2)
        job.kill("b")
        report = await job.until_step(3, size=1)
        (rank,) = job.ranks_of("a")
        assert "fork_server" in Path(f"/proc/{rank}/cmdline").read_text()
    log = (tmp_path / "a.log").read_text()
    called = re.findall(r"train is called in process (\d+)", log)
    assert (len(called), len(set(called))) == (calls, processes)
    assert called[-1] == str(rank)
    assert [chapter.steps_lost for chapter in report.history[:1]] == [0]
    assert report.restarts == 0
    assert "Traceback" not in log


@pytest.mark.parametrize("ways", ["warm", "cold"])
async def test_a_plain_script_comes_back_in_a_new_process(tmp_path: Path, ways: str) -> None:
    command = [str(SCRIPTS / "plain.py"), str(tmp_path / "state.pt"), "100000"]
    async with fleet(tmp_path, command, LIMITS) as job:
        job.environment = {contract.ENV_WAYS_BACK: ways}
        await job.start("a")
        await job.logged(r"step \d+ world 1")
        await job.start("b")
        await job.logged(r"step \d+ world 2")
        (before,) = job.ranks_of("a")
        job.kill("b")
        report = await job.until(lambda report: report.size == 1)
        await job.logged(r"of rank 0 of 1", times=2)
        (rank,) = job.ranks_of("a")
        assert rank != before
        assert ("fork_server" in Path(f"/proc/{rank}/cmdline").read_text()) == (ways == "warm")
    assert report.restarts == 0
