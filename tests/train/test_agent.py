"""Real agents and real torch processes through interruptions, on loopback."""

import asyncio
import os
import re
import signal
from pathlib import Path

import pytest

from spotrain import contract, worlds
from spotrain.worlds import Limits, Reason
from tests.train.fleet import JOB, fleet
from tests.train.story import (
    SAMPLES,
    SCRIPTS,
    audit_of,
    grows_to_three,
    reaches_its_end,
    session,
    shrinks_to_one,
)

LIMITS = Limits(min_size=1, max_size=3, desired_size=2, growth_delay_seconds=0.2, max_restarts=2)


@pytest.mark.acceptance(20, 21, 28)
async def test_a_job_lives_through_notice_loss_and_growth_and_counts_every_sample_once(
    tmp_path: Path,
) -> None:
    async with fleet(tmp_path, session(tmp_path), LIMITS) as job:
        await grows_to_three(job)
        await shrinks_to_one(job)
        await job.start("d")
        await job.until_step(5, size=2)
        report, exact = await reaches_its_end(job)
        assert await job.exit_code("d") == contract.EXIT_OK
    ended = [(chapter.reason, chapter.steps_lost) for chapter in report.history]
    planned = [lost for reason, lost in ended if reason in (Reason.GROWTH, Reason.NOTICE)]
    assert planned == [0] * len(planned)
    assert {reason for reason, _ in ended} == {
        Reason.GROWTH,
        Reason.NOTICE,
        Reason.LOSS,
        Reason.FINISHED,
    }
    assert job.recorded == [chapter.number for chapter in report.history]
    assert exact.epochs_checked >= 1


async def test_survivors_train_on_while_a_killed_rank_starts_anew(tmp_path: Path) -> None:
    async with fleet(tmp_path, session(tmp_path), LIMITS) as job:
        await job.start("a")
        await job.start("b")
        await job.until_step(5, size=2)
        os.kill(job.ranks_of("a")[0], signal.SIGKILL)
        report = await job.until(lambda report: report.number == 3 and report.step > 0)
        assert report.restarts == 1
        assert [chapter.members for chapter in report.history[1:]] == [("b",), ("b", "a")]
        await job.until_step(5, size=2)


@pytest.mark.acceptance(24)
async def test_a_world_that_hangs_trains_on_from_its_checkpoint_once_it_is_told_to_restart(
    tmp_path: Path,
) -> None:
    async with fleet(tmp_path, session(tmp_path, "--hang-at", "60"), LIMITS) as job:
        await job.start("a")
        await job.start("b")
        hung = await job.until_step(40, size=2)
        while not (tmp_path / "out" / "hung").exists():  # a hanging script tells nobody
            await asyncio.sleep(0.1)
        job.coordinator.stall(JOB, hung.number, "no step for a minute")
        report = await job.until(
            lambda report: report.number > hung.number and report.step > 60 and report.size == 2
        )
        assert report.restarts == 1
        assert report.history[0].reason is Reason.STALL


async def test_a_fault_of_the_script_ends_the_job_after_the_allowed_restarts(
    tmp_path: Path,
) -> None:
    command = session(tmp_path, "--fail-at", "7")
    async with fleet(tmp_path, command, LIMITS) as job:
        await job.start("a")
        await job.start("b")
        report = await job.until(lambda report: report.outcome != "")
        assert await job.exit_code("a") == contract.EXIT_FAILED
        assert await job.exit_code("b") == contract.EXIT_FAILED
    assert (report.outcome, report.restarts) == ("failed", LIMITS.max_restarts + 1)
    assert "ended with code 1: ValueError: the script has a fault" in report.message
    assert "restarts allowed: 2" in report.message


async def test_a_fault_before_the_script_has_come_to_train_is_told_as_well(tmp_path: Path) -> None:
    script = tmp_path / "broken.py"
    script.write_text("import torch\nimport spotrain.train\nimport nosuchmodule\n")
    async with fleet(tmp_path, [str(script)], LIMITS) as job:
        await job.start("a")
        await job.start("b")
        report = await job.until(lambda report: report.outcome != "")
    assert (
        "ended with code 1: ModuleNotFoundError: No module named 'nosuchmodule'" in report.message
    )


async def test_a_plain_script_is_restarted_for_each_world_and_finishes(tmp_path: Path) -> None:
    command = [str(SCRIPTS / "plain.py"), str(tmp_path / "state.pt"), "400"]
    async with fleet(tmp_path, command, LIMITS) as job:
        await job.start("a")
        await job.start("b")
        await job.until(lambda report: report.size == 2)
        await job.logged(r"step \d+ world 2")
        job.notice("b")
        assert await job.exit_code("b") == contract.EXIT_NOTICE
        await job.logged(r"step \d+ world 1")
        report = await job.until(lambda report: report.outcome != "")
        assert await job.exit_code("a") == contract.EXIT_OK
    assert [chapter.size for chapter in report.history] == [2, 1]
    assert report.restarts == 0
    starts = [int(n) for n in re.findall(r"start at (\d+)", (tmp_path / "a.log").read_text())]
    assert starts[0] == 0
    assert starts[1] > 0


async def test_ranks_die_with_their_agent(tmp_path: Path) -> None:
    async with fleet(tmp_path, session(tmp_path), LIMITS) as job:
        await job.start("a")
        await job.until_step(2, size=1)
        (rank,) = map(os.pidfd_open, job.ranks_of("a"))  # it may stay as a zombie
        ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(rank, ended.set)
        job.kill("a")
        async with asyncio.timeout(60):
            await ended.wait()
        asyncio.get_running_loop().remove_reader(rank)
        os.close(rank)


@pytest.mark.acceptance(22)
async def test_training_goes_on_while_the_coordinator_is_away(tmp_path: Path) -> None:
    async with fleet(tmp_path, session(tmp_path), LIMITS) as job:
        await job.start("a")
        await job.start("b")
        before = await job.until_step(5, size=2)
        await job.restart_coordinator(number=before.number)
        after = await job.until(lambda report: report.step > before.step + 5)
        assert (after.size, after.number) == (2, before.number)
        job.notice("b")
        await job.until_step(5, size=1)
        assert await job.exit_code("b") == contract.EXIT_NOTICE
        assert job.report.history[-1].number == before.number + 1


async def test_a_new_job_goes_on_in_an_old_output_under_higher_world_numbers(
    tmp_path: Path,
) -> None:
    limits = Limits(min_size=1, max_size=1, desired_size=1)
    first = session(tmp_path, "--epochs", "1", "--pause", "0")
    async with fleet(tmp_path, first, limits) as job:
        await job.start("a")
        await job.until(lambda report: report.outcome != "")
        await job.exit_code("a")
    async with fleet(tmp_path, session(tmp_path, "--epochs", "2", "--pause", "0"), limits) as job:
        await job.start("b")
        report = await job.until(lambda report: report.outcome != "")
        await job.exit_code("b")
    assert report.history[-1].number == 2
    assert report.history[-1].first_step == SAMPLES // 4
    assert audit_of(tmp_path / "out", tmp_path / "samples").problems == ()


async def test_two_ranks_of_one_agent_share_its_place_in_the_world(tmp_path: Path) -> None:
    command = ["--nproc-per-node", "2", *session(tmp_path)]
    async with fleet(tmp_path, command, LIMITS) as job:
        await job.start("a")
        await job.start("b")
        await job.until_step(3, size=2)
        logs = (tmp_path / "a.log").read_text() + (tmp_path / "b.log").read_text()
        assert set(re.findall(r"rank (\d) of 4", logs)) == set("0123")
        job.notice("a")
        assert await job.exit_code("a") == contract.EXIT_NOTICE
        job.let_finish()
        report = await job.until(lambda report: report.outcome != "")
        assert await job.exit_code("b") == contract.EXIT_OK
    assert report.history[0].steps_lost == 0
    assert audit_of(tmp_path / "out", tmp_path / "samples").problems == ()


async def test_a_notice_before_any_world_just_ends_the_worker(tmp_path: Path) -> None:
    limits = worlds.Limits(min_size=2, max_size=2, desired_size=2)
    async with fleet(tmp_path, session(tmp_path), limits) as job:
        await job.start("a")
        await job.logged("connected")
        job.notice("a")
        assert await job.exit_code("a") == contract.EXIT_NOTICE
