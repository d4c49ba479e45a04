"""Training that has its checkpoints in a bucket: real agents, real processes, a real server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from spotrain import contract
from spotrain.worlds import Limits, Reason
from tests.train.buckets import Server, server_of
from tests.train.fleet import fleet
from tests.train.story import audit_of, session

LIMITS = Limits(min_size=1, max_size=2, desired_size=2, growth_delay_seconds=0.2, max_restarts=0)


@pytest.fixture(params=["s3", "gs"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with server_of(request.param) as made:
        yield made


async def test_training_goes_on_from_a_bucket_after_a_loss_and_a_notice(
    tmp_path: Path, server: Server
) -> None:
    name = server.new_bucket()
    command = session(tmp_path, "--checkpoints", f"{server.scheme}://{name}/output/run1")
    (tmp_path / "out").mkdir()
    async with fleet(tmp_path, command, LIMITS) as job:
        job.environment = server.environment
        await job.start("a")
        await job.start("b")
        await job.until_step(5, size=2)
        await job.until(lambda report: report.history[-1].committed_step is not None)
        lost, left = job.report.history[-1].members
        job.kill(lost)  # it writes the checkpoints
        await job.until_step(5, size=1)
        await job.start("c")
        await job.until_step(5, size=2)
        job.notice(left)
        assert await job.exit_code(left) == contract.EXIT_NOTICE
        await job.until_step(5, size=1)
        job.let_finish()
        report = await job.until(lambda report: report.outcome != "")
    assert (report.outcome, report.restarts) == ("succeeded", 0)
    assert [world.reason for world in report.history].count(Reason.LOSS) == 1
    assert all(world.first_step != 1 for world in report.history[1:]), "they went on"
    commits = tmp_path / "commits" / "checkpoints"
    for key in server.keys(name, "output/run1/checkpoints/"):
        path = commits / key.removeprefix("output/run1/checkpoints/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(server.download(name, key))
    exact = audit_of(commits.parent, tmp_path / "samples")
    assert (exact.lost, exact.repeated, exact.problems) == (0, 0, ())
