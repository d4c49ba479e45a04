"""A worker is frozen when its commit is accepted but not published, and wakes in a later world."""

import json
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from bench.train.peers.launchers import SESSION
from bench.train.peers.steps import StepDone
from bench.train.peers.team import Team, team
from spotrain.ledger.samples import Commit, Key, read_commits
from spotrain.train.checkpoint import Catalogue, CheckpointId

LAUNCHER: Final = replace(SESSION, script=Path(__file__).parent / "session.py")
WAIT_SECONDS: Final = 240.0
"""Against hanging, on a machine that is busy."""


@contextmanager
def pair(folder: Path) -> Iterator[Team]:
    """Two workers that train together and save twice a second."""
    with team(LAUNCHER, folder, max_size=2) as job:
        job.start("a", "b")
        job.until_training(size=2, steps=3)
        yield job


def trial(job: Team) -> dict[str, Any]:
    """Freeze whoever publishes next, wait for a commit of the world without it, wake it up."""
    files = [job.output / name for name in ("reached", "go")]
    for file in files:
        file.unlink(missing_ok=True)
    (job.output / "arm").touch()
    reached, go = files
    await_file(job, reached)
    about = json.loads(reached.read_text())
    stale = CheckpointId.parse(about["target"].removesuffix(".json"))
    at = job.signal(signal.SIGSTOP, about["worker"])
    await_stopped(job, about["worker"])
    go.touch()
    catalogue = Catalogue(job.output / "checkpoints")
    newer = job.until(lambda _: committed_after(catalogue, stale), seconds=WAIT_SECONDS)
    committed = time.monotonic() - at
    job.signal(signal.SIGCONT, about["worker"])
    job.until(lambda done: is_together(done, beyond=newer.world), seconds=WAIT_SECONDS)
    commits = read_commits(job.output / "checkpoints")
    return judge(commits, stale) | {
        "worker": about["worker"],
        "commit_after_seconds": round(committed, 2),
        "newest_is_intact": is_newest_intact(catalogue),
    }


def judge(commits: list[Commit], stale: CheckpointId) -> dict[str, Any]:
    """What became of the stale publication, and whether any work builds on it. Pure."""
    known = {commit.key: commit for commit in commits}
    key = (stale.world, stale.step)
    newest = max(known, default=None)
    path = lineage(known, newest)
    return {
        "stale": str(stale),
        "was_published": key in known,
        "counts": key in path,
        "lineage": sorted(path)[-6:],
        "new_world_committed": newest is not None and newest[0] > stale.world,
    }


def lineage(known: dict[Key, Commit], newest: Key | None) -> set[Key]:
    """The checkpoints that `newest` goes back to, itself included, as far as they are known."""
    path: set[Key] = set()
    key = newest
    while key is not None and key not in path:
        path.add(key)
        key = known[key].parent if key in known else None
    return path


def is_together(done: Sequence[StepDone], *, beyond: int) -> bool | None:
    """Whether both train in a world after `beyond`; a woken rank may still step in its old one."""
    newest = max(int(step.world) for step in done)
    own = [step for step in done if step.world == str(newest)]
    return (newest > beyond and own[0].size == 2 and len(own) >= 10) or None


def committed_after(catalogue: Catalogue, stale: CheckpointId) -> CheckpointId | None:
    newest = catalogue.newest_published()
    return newest if newest is not None and newest.world > stale.world else None


def is_newest_intact(catalogue: Catalogue) -> bool:
    """Read again where a save of the living world comes in between."""
    for _ in range(5):
        newest, intact = catalogue.newest_published(), catalogue.newest_intact()
        if intact is not None and newest is not None and intact.id >= newest:
            return True
    return False


def await_stopped(job: Team, worker: str) -> None:
    """Wait until every thread stands still: on a busy machine some run on for a while."""

    def look(_: object) -> bool | None:
        states = set()
        for pid in job.processes_of(worker):
            for task in Path(f"/proc/{pid}/task").glob("*/stat"):
                with suppress(OSError):  # a thread that has just ended
                    states.add(task.read_text().rpartition(")")[2].split()[0])
        return states <= {"T", "Z", "X"} or None

    job.until(look, seconds=WAIT_SECONDS)


def await_file(job: Team, path: Path) -> None:
    job.until(lambda _: path.exists() or None, seconds=WAIT_SECONDS)
