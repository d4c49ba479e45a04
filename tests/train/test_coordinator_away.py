"""Real agents and real torch processes, while nobody forms worlds."""

from pathlib import Path

from spotrain import contract
from spotrain.worlds import Limits
from tests.train.fleet import fleet
from tests.train.story import session

LIMITS = Limits(min_size=1, max_size=3, desired_size=3, growth_delay_seconds=0.2, max_restarts=0)


async def test_a_member_that_dies_and_one_on_notice_while_the_coordinator_is_away(
    tmp_path: Path,
) -> None:
    """Both are known once it is back; none of it uses up a restart, and the last one trains on."""
    async with fleet(tmp_path, session(tmp_path), LIMITS) as job:
        for pod in "abc":
            await job.start(pod)
        before = await job.until_step(5, size=3)
        await job.stop_serving()
        job.kill("a")
        await job.exit_code("a")
        await job.serve(number=before.number)
        after = await job.until_step(5, size=2)
        assert after.number > before.number
        assert set(after.history[-1].members) == {"b", "c"}
        await job.stop_serving()
        job.notice("b")
        await job.serve(number=after.number)
        last = await job.until_step(5, size=1)
        assert await job.exit_code("b") == contract.EXIT_NOTICE
        assert last.history[-1].members == ("c",)
        assert last.restarts == 0
