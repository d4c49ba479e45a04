"""Whatever happens to one worker, the others train on, and what it left behind harms nobody."""

import os
import re
import resource
import signal
from pathlib import Path

from spotrain.worlds import Limits, Reason
from tests.train.blackhole import proxy
from tests.train.fleet import Fleet, fleet
from tests.train.story import reaches_its_end, session

LIMITS = Limits(min_size=1, max_size=2, desired_size=2, growth_delay_seconds=0.2, max_restarts=0)
MEGABYTE = 1 << 20


def commits_of(folder: Path, world: int) -> set[str]:
    return {path.name for path in (folder / "out" / "checkpoints").glob(f"w{world:06}-*.json")}


async def two_train(job: Fleet, *ports: int) -> list[str]:
    """Returns them in rank order."""
    for pod, port in zip("ab", ports or (None, None), strict=True):
        await job.start(pod, port=port)
    report = await job.until_step(5, size=2)
    return list(report.history[-1].members)


async def test_a_frozen_worker_is_left_behind_and_writes_nothing_when_it_wakes(
    tmp_path: Path,
) -> None:
    async with fleet(tmp_path, session(tmp_path), LIMITS) as job:
        writer, _ = await two_train(job)
        frozen = [job.agents[writer].pid, *job.ranks_of(writer)]
        old_world = job.report.number
        for pid in frozen:
            os.kill(pid, signal.SIGSTOP)
        await job.until_step(5, size=1)
        assert job.report.history[0].reason is Reason.LOSS
        before = commits_of(tmp_path, old_world)
        for pid in reversed(frozen):  # its rank first: nobody tells it yet that its world is over
            os.kill(pid, signal.SIGCONT)
        await job.until_step(5, size=2)
        assert commits_of(tmp_path, old_world) <= before
        await reaches_its_end(job)


async def test_a_partitioned_worker_is_left_behind_and_comes_back(tmp_path: Path) -> None:
    async with (
        fleet(tmp_path, session(tmp_path), LIMITS) as job,
        proxy(job.port) as to_a,
        proxy(job.port) as to_b,
    ):
        writer, _ = await two_train(job, to_a.port, to_b.port)
        old_world = job.report.number
        cut = {"a": to_a, "b": to_b}[writer]
        cut.swallow()
        await job.until_step(5, size=1)
        assert job.report.history[0].reason is Reason.LOSS
        before = commits_of(tmp_path, old_world)
        cut.heal()
        await job.until_step(5, size=2)
        assert commits_of(tmp_path, old_world) <= before
        await reaches_its_end(job)
        for pod in "ab":
            await job.exit_code(pod)


async def test_a_rank_that_hangs_while_it_leaves_a_broken_world_is_started_anew(
    tmp_path: Path,
) -> None:
    async with fleet(tmp_path, session(tmp_path, "--hang-in-abort"), LIMITS) as job:
        survivor, lost = await two_train(job)
        job.kill(lost)
        await job.until_step(5, size=1)
        assert (tmp_path / "out" / "hung").exists()
        assert "ranks did not leave within" in (tmp_path / f"{survivor}.log").read_text()
        await reaches_its_end(job)


async def test_a_script_that_continues_after_any_exception_of_a_step_changes_worlds_as_others_do(
    tmp_path: Path,
) -> None:
    async with fleet(tmp_path, session(tmp_path, "--swallow"), LIMITS) as job:
        _, lost = await two_train(job)
        job.kill(lost)
        await job.until_step(5, size=1)
        await job.start("c")
        await job.until_step(5, size=2)
        await reaches_its_end(job)


async def test_a_full_disk_stops_saves_and_no_training(tmp_path: Path) -> None:
    """Each save hits the limit as it would hit a full disk; what the others write is smaller."""
    command = session(tmp_path, "--ballast", str(4 * MEGABYTE))
    async with fleet(tmp_path, command, LIMITS) as job:
        writer, lost = await two_train(job)
        (rank,) = job.ranks_of(writer)
        _, most = resource.prlimit(rank, resource.RLIMIT_FSIZE)
        resource.prlimit(rank, resource.RLIMIT_FSIZE, (2 * MEGABYTE, most))
        await job.logged("File too large", pod=writer)
        job.kill(lost)
        await job.until_step(5, size=1)
        resource.prlimit(rank, resource.RLIMIT_FSIZE, (most, most))
        await reaches_its_end(job)


async def test_a_torn_checkpoint_is_passed_over_after_a_loss(tmp_path: Path) -> None:
    async with fleet(tmp_path, session(tmp_path), LIMITS) as job:
        writer, survivor = await two_train(job)
        await job.until(lambda report: len(commits_of(tmp_path, report.number)) > 1)
        (rank,) = job.ranks_of(survivor)
        os.kill(rank, signal.SIGSTOP)  # it is to find the checkpoint torn, not to be quicker
        job.kill(writer)
        await job.exit_code(writer)
        checkpoints = tmp_path / "out" / "checkpoints"
        (folder,) = checkpoints.glob(f"{max(checkpoints.glob('w*.json')).stem}.*/")
        newest = folder / "data-00000.bin"
        os.truncate(newest, newest.stat().st_size // 2)
        os.kill(rank, signal.SIGCONT)
        await job.until_step(5, size=1)
        await reaches_its_end(job)
        log = (tmp_path / f"{survivor}.log").read_text()
        assert re.search(rf"{re.escape(str(newest))} has .* bytes instead of", log)
