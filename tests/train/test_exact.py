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


async def nothing(job: Fleet) -> None:
    pass


async def notice(job: Fleet) -> None:
    await job.until_step(3, size=2)
    job.notice("a")  # rank 0: the other one takes its place
    await job.start("c")
    assert await job.exit_code("a") == contract.EXIT_NOTICE


async def kill(job: Fleet) -> None:
    await job.until_step(3, size=2)
    job.kill("b")
    await job.start("c")
    await job.exit_code("b")


async def trained(folder: Path, interrupt: Callable[[Fleet], Awaitable[None]]) -> str:
    """What the script leaves: weights, and states of optimizer, scheduler and scaler."""
    output = folder / "out"
    output.mkdir(parents=True)
    async with fleet(folder, [str(SCRIPT), str(output)], TWO) as job:
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


@pytest.mark.parametrize("interrupt", [notice, kill])
async def test_an_interruption_leaves_no_trace_in_what_is_trained(
    tmp_path: Path, uninterrupted: str, interrupt: Callable[[Fleet], Awaitable[None]]
) -> None:
    assert await trained(tmp_path / interrupt.__name__, interrupt) == uninterrupted
