"""The jobs of a sweep one by one: how far that has come, sending them, and those that are there."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from spotrain.cli.errors import UserError
from spotrain.cli.interrupts import interrupted, unbroken
from spotrain.cli.job_view import view
from spotrain.cli.jobs import Jobs
from spotrain.cli.local_jobs import INTERRUPTED
from spotrain.cli.refusals import NotThere
from spotrain.cli.sweep_jobs import Member, describe, sweep_of, unsent
from spotrain.cli.wording import command, count
from spotrain.kinds import Object

LOOK_SECONDS: Final = 0.5


@dataclass
class Progress:
    """How far something has come that is done job by job."""

    wording: Callable[[int], str]
    """What is left where it breaks off after so many."""
    done: int = 0

    @contextmanager
    def told(self) -> Iterator[None]:
        """Around all of it. Raises UserError: what went wrong, or Ctrl-C, and how far it came."""
        try:
            yield
        except KeyboardInterrupt:
            raise interrupted(self.wording(self.done)) from None
        except UserError as error:
            if self.done == 0:
                raise
            said = f"{error.message} {self.wording(self.done)}"
            raise UserError(said, exit_code=error.exit_code) from None

    @contextmanager
    def step(self, doing: str) -> Iterator[None]:
        """Around one job, which counts itself: Ctrl-C waits for its end."""
        with unbroken(doing) as interrupt:
            yield
        if interrupt.came:
            raise KeyboardInterrupt


@dataclass
class Sending:
    """The jobs of a sweep on their way. `sent` counts those that this command has sent."""

    sweep: str
    jobs: Jobs
    at_most: int | None
    local: bool
    sent: int = 0

    def send(self, planned: Sequence[Member]) -> list[Object]:
        """Those that are not there yet; returns all, as they are now.

        A controller keeps the others waiting until their turn comes; on this machine there is none
        of all jobs, so a job is sent when its turn has come.

        Raises:
            UserError: the first that went wrong, or Ctrl-C; it says how far it came.
        """
        there = list(self.jobs.list())
        missing = unsent(planned, there)
        progress = Progress(lambda sent: self._told(sent, len(missing)))
        with progress.told():
            if not self.local:
                self._limit(there)
            for member in missing:
                self._send_one(member, progress)
            names = {member.name for member in planned}
            return [each for each in self.jobs.list() if each["metadata"]["name"] in names]

    def _told(self, sent: int, wanted: int) -> str:
        remove = command("sweep", self.sweep, "--delete", local=self.local)
        return (
            f"{sent} of {count(wanted, 'job')} of sweep {self.sweep} were sent and go on. "
            f"Next: the same command sends the rest, {remove} removes what is there."
        )

    def _send_one(self, member: Member, progress: Progress) -> None:
        while self.local and self._is_full():
            time.sleep(LOOK_SECONDS)
        with progress.step(f"{member.name} is being sent"):
            self.jobs.create(member.document)
            progress.done = self.sent = self.sent + 1
            print(f"submitted {member.name}: {describe(member.values)}", flush=True)

    def _is_full(self) -> bool:
        running = [
            seen
            for seen in map(view, of_sweep(self.sweep, self.jobs.list()))
            if not seen.status.finished
            and seen.state != INTERRUPTED
            and not (seen.job and seen.job.suspend)
        ]
        return self.at_most is not None and len(running) >= self.at_most

    def _limit(self, there: Iterable[Mapping[str, Any]]) -> None:
        """What was sent earlier, under another limit, keeps to this one."""
        for document in of_sweep(self.sweep, there):
            seen = view(document)
            now = seen.job.sweep.at_most if seen.job else self.at_most
            if now != self.at_most and not seen.status.finished:
                self.jobs.patch(seen.name, {"spec": {"sweep": {"atMost": self.at_most}}})


def of_sweep(sweep: str, documents: Iterable[Mapping[str, Any]]) -> list[Object]:
    return [dict(document) for document in documents if sweep_of(document) == sweep]


def existing(sweep: str, jobs: Jobs, *, local: bool) -> list[Object]:
    """Raises NotThere, which names the sweeps that there are."""
    documents = jobs.list()
    found = of_sweep(sweep, documents)
    if found:
        return found
    known = sorted({name for name in map(sweep_of, documents) if name})
    hint = f"There are {', '.join(known)}." if known else "There is none at all."
    start = command("sweep", sweep, "lr=0.1,0.01", "--gpus", "1", local=local)
    raise NotThere(f"there is no job of a sweep {sweep!r}. {hint} {start} -- train.py makes one.")
