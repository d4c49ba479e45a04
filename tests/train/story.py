"""What many tests put a fleet through, and what has to hold of every job in the end."""

from pathlib import Path
from typing import Final

from spotrain import contract
from spotrain.coordinator.report import JobReport
from spotrain.ledger.exactness import Exactness, audit, read_commits, read_sample_log
from tests.train.fleet import Fleet

SCRIPTS: Final = Path(__file__).parent / "scripts"
SAMPLES: Final = 400
"""In the data set of every script that a fleet trains until it is told that this is enough."""


def session(folder: Path, *options: str) -> list[str]:
    """What an agent is told to run: the script that ends once `Fleet.let_finish` says so."""
    return [str(SCRIPTS / "session.py"), str(folder / "out"), *options]


def audit_of(output: Path, samples: Path) -> Exactness:
    return audit(
        size=SAMPLES,
        commits=read_commits(output / "checkpoints"),
        consumed=read_sample_log(samples),
    )


async def grows_to_three(job: Fleet) -> None:
    """Two begin, and a third one joins them."""
    await job.start("a")
    await job.start("b")
    await job.until_step(5, size=2)
    await job.start("c")
    await job.until_step(5, size=3)


async def shrinks_to_one(job: Fleet) -> None:
    """Of three, one leaves on notice, and one is lost without."""
    job.notice("b")
    await job.until_step(5, size=2)
    assert await job.exit_code("b") == contract.EXIT_NOTICE
    job.kill(job.report.history[-1].members[0])
    await job.until_step(5, size=1)


async def reaches_its_end(job: Fleet) -> tuple[JobReport, Exactness]:
    """Unaided; no restart was counted, and no sample was lost or repeated."""
    job.let_finish()
    report = await job.until(lambda report: report.outcome != "")
    assert (report.outcome, report.restarts) == ("succeeded", 0)
    exact = audit_of(job.folder / "out", job.folder / "samples")
    assert (exact.lost, exact.repeated, exact.problems) == (0, 0, ())
    return report, exact
