"""The jobs of a sweep: those that are there, and how far what is done with each has come."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from spotrain.cli.errors import UserError
from spotrain.cli.interrupts import interrupted, unbroken
from spotrain.cli.job_view import view
from spotrain.cli.jobs import Jobs
from spotrain.cli.refusals import NotThere
from spotrain.cli.sweep_jobs import sweep_of
from spotrain.kinds import Object
from spotrain.next_command import next_command


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


def of_sweep(sweep: str, documents: Iterable[Mapping[str, Any]]) -> list[Object]:
    return [dict(document) for document in documents if sweep_of(document) == sweep]


def limit_of(sweep: str, documents: Iterable[Mapping[str, Any]]) -> int | None:
    """How many jobs of a sweep hold nodes at once: as its newest one says, if it can one that has
    not ended, since an ended one's limit is never changed. None: any number."""
    seen = map(view, of_sweep(sweep, documents))
    newest = max(seen, key=lambda each: (not each.status.finished, each.created_at), default=None)
    return newest.job.sweep.at_most if newest and newest.job else None


def goes_on(sweep: str, *, local: bool) -> str:
    return f"the jobs of sweep {sweep} go on. Next: {next_command('sweep', sweep, local=local)}"


def watched(sweep: str, jobs: Jobs, *, local: bool) -> Iterator[Sequence[Object]]:
    """Its jobs now and after every change. Raises NotThere, also once none is left."""
    existing(sweep, jobs, local=local)  # before its name becomes a question to the server
    for found in jobs.watch_sweep(sweep):
        yield found or existing(sweep, jobs, local=local)


def existing(sweep: str, jobs: Jobs, *, local: bool) -> list[Object]:
    """Raises NotThere, which names the sweeps that there are."""
    documents = jobs.list()
    found = of_sweep(sweep, documents)
    if found:
        return found
    known = sorted({name for name in map(sweep_of, documents) if name})
    hint = f"There are {', '.join(known)}." if known else "There is none at all."
    start = next_command("sweep", sweep, "lr=0.1,0.01", "--gpus", "1", local=local)
    raise NotThere(f"there is no job of a sweep {sweep!r}. {hint} {start} -- train.py makes one.")
