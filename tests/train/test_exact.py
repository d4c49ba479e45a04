"""Same seed, same size of the world: the same model to the last bit, interrupted or not."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from spotrain import contract
from spotrain.worlds import Limits
from tests.train.fleet import Fleet, fleet

SCRIPT = Path(__file__).parent / "scripts" / "exact.py"
TWO = Limits(min_size=2, max_size=2, desired_size=2, growth_delay_seconds=0.2, max_restarts=0)
Interrupt = Callable[[Fleet], Awaitable[None]]


async def nothing(job: Fleet) -> None:
    pass


def notice_of(rank: int) -> Interrupt:
    async def interrupt(job: Fleet) -> None:
        report = await job.until_step(3, size=2)
        leaving = report.history[-1].members[rank]
        job.notice(leaving)  # after rank 0, the other one is the first
        await job.start(f"instead-of-{leaving}")
        assert await job.exit_code(leaving) == contract.EXIT_NOTICE

    return interrupt


def loss_of(rank: int) -> Interrupt:
    async def interrupt(job: Fleet) -> None:
        report = await job.until_step(3, size=2)
        lost = report.history[-1].members[rank]
        job.kill(lost)
        await job.start(f"instead-of-{lost}")
        await job.exit_code(lost)

    return interrupt


async def notice_then_loss(job: Fleet) -> None:
    await notice_of(0)(job)
    await job.until(lambda report: report.number == 2)
    await loss_of(1)(job)


async def trained(folder: Path, interrupt: Interrupt, *options: str) -> str:
    """What the script leaves: weights, and states of optimizer, scheduler and scaler."""
    output = folder / "out"
    output.mkdir(parents=True)
    async with fleet(folder, [str(SCRIPT), str(output), *options], TWO) as job:
        await job.start("a")
        await job.start("b")
        await interrupt(job)
        (output / "fast").touch()
        report = await job.until(lambda report: report.outcome != "")
        assert report.outcome == "succeeded"
        assert (len(report.history) > 1) is (interrupt is not nothing)
    return (output / "state").read_text()


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> str:
    return asyncio.run(trained(tmp_path_factory.mktemp("uninterrupted"), nothing))


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("interruption", [notice_of, loss_of])
async def test_an_interruption_leaves_no_trace_in_what_is_trained(
    tmp_path: Path, uninterrupted: str, interruption: Callable[[int], Interrupt], rank: int
) -> None:
    assert await trained(tmp_path, interruption(rank)) == uninterrupted


async def test_interruptions_leave_no_trace_in_a_sharded_model(tmp_path: Path) -> None:
    interrupted = await trained(tmp_path / "interrupted", notice_then_loss, "--shard")
    assert interrupted == await trained(tmp_path / "uninterrupted", nothing, "--shard")
