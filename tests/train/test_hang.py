"""A world that hangs is ended, the ranks that held it up are named, and training goes on."""

import asyncio
import os
import re
import signal
from pathlib import Path

import pytest

from spotrain.worlds import Limits, Reason
from tests.train.fleet import JOB, Fleet, fleet
from tests.train.story import SCRIPTS, session

LIMITS = Limits(min_size=2, max_size=2, desired_size=2, max_restarts=2)


def line_of(code: str) -> int:
    """Where it stands in the script, for the last time."""
    lines = (SCRIPTS / "session.py").read_text().splitlines()
    return max(number for number, line in enumerate(lines, start=1) if line.strip() == code)


async def trains_on(job: Fleet) -> str:
    """After a stall the whole world trains on and reaches its end; returns why it was ended."""
    stalled = job.report
    report = await job.until(
        lambda report: (
            report.number > stalled.number
            and report.size == 2
            and report.step > stalled.step
            and report.history[-1].first_step is not None
        )
    )
    job.let_finish()
    report = await job.until(lambda report: report.outcome != "")
    assert (report.outcome, report.restarts) == ("succeeded", 1)
    assert report.history[0].reason is Reason.STALL
    return report.history[0].message


@pytest.mark.acceptance(24)
async def test_a_rank_that_sleeps_in_its_data_is_named_with_its_file_and_line(
    tmp_path: Path,
) -> None:
    command = session(tmp_path, "--hang-in-data", "80")
    async with fleet(tmp_path, command, LIMITS, inspect_seconds=60) as job:
        await job.start("a")
        await job.start("b")
        while not (tmp_path / "out" / "hung").exists():  # a hanging script tells nobody
            await asyncio.sleep(0.1)
        job.coordinator.stall(JOB, job.report.number, "no step for a minute")
        message = await trains_on(job)
    assert message.startswith("no step for a minute; behind or stuck: rank 1 ")
    place = f"session.py:{line_of('time.sleep(3600)')} hang"
    assert f"rank 1: without its next batch after step 19, {place}" in message
    assert re.search(r"rank 0: in step 20, session\.py:\d+ train", message)
    logs = (tmp_path / "a.log").read_text() + (tmp_path / "b.log").read_text()
    assert re.search(r"hangs or waits: session\.py(.|\n)+ in hang\n.+ in __getitem__\n", logs)


@pytest.mark.acceptance(24)
async def test_a_stopped_rank_is_named_though_it_cannot_answer(tmp_path: Path) -> None:
    async with fleet(tmp_path, session(tmp_path), LIMITS, inspect_seconds=60) as job:
        await job.start("a")
        await job.start("b")
        await job.until_step(5, size=2)
        pod = job.report.history[-1].members[1]
        (rank,) = job.ranks_of(pod)
        os.kill(rank, signal.SIGSTOP)
        job.coordinator.stall(JOB, job.report.number, "no step for a minute")
        message = await trains_on(job)
    assert "behind or stuck: rank 1 " in message
    assert re.search(r"rank 1: .*, stopped by a signal", message)


@pytest.mark.acceptance(24)
async def test_an_agent_that_says_nothing_delays_no_restart(tmp_path: Path) -> None:
    async with fleet(tmp_path, session(tmp_path), LIMITS, inspect_seconds=1) as job:
        await job.start("a")
        await job.start("b")
        await job.until_step(5, size=2)
        pod = job.report.history[-1].members[1]
        job.agents[pod].send_signal(signal.SIGSTOP)
        job.coordinator.stall(JOB, job.report.number, "no step for a minute")
        await job.until(lambda report: report.history[0].reason is not None)
        assert "rank 1: did not answer" in job.report.history[0].message
        job.agents[pod].send_signal(signal.SIGCONT)
        await job.until_step(5, size=2)
