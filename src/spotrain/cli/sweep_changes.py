"""One thing that is done with all jobs of a sweep: stop them, remove them, change their limit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spotrain.cli.job_view import JobView, view
from spotrain.cli.jobs import Jobs
from spotrain.cli.refusals import NotThere
from spotrain.cli.resume import goes_on
from spotrain.cli.stop import is_stopped
from spotrain.cli.sweeping import Progress
from spotrain.cli.wording import count
from spotrain.kinds import Object


@dataclass(frozen=True)
class Change:
    verb: str
    saying: str
    """How it is told of the jobs, of which some may take a while to follow."""
    past: str
    patch: Mapping[str, Any] | None
    """Of a job; None: it is removed."""
    is_done: Callable[[JobView], bool] = lambda _seen: False
    """Is the job so already?"""

    def touched(self, found: Sequence[Object]) -> list[JobView]:
        """Those whom it concerns: one that has ended can only be removed, and one that is so
        already stays as it is."""
        seen = map(view, found)
        return [
            each
            for each in seen
            if self.patch is None or not (each.status.finished or self.is_done(each))
        ]

    def apply(self, jobs: Jobs, name: str) -> bool:
        """False: somebody removed the job meanwhile, and that is not what is done here."""
        try:
            if self.patch is None:
                jobs.delete(name)
            else:
                jobs.patch(name, self.patch)
        except NotThere:
            return self.patch is None
        return True


STOP: Final = Change("stop", "stopping", "stopped", {"spec": {"suspend": True}}, is_stopped)
RESUME: Final = Change("resume", "resuming", "resumed", {"spec": {"suspend": False}}, goes_on)
DELETE: Final = Change("delete", "deleted", "deleted", None)


def limit_to(at_most: int) -> Change:
    """So many hold nodes at once."""
    return Change(
        "limit",
        f"limited to {at_most} at once:",
        "limited",
        {"spec": {"sweep": {"atMost": at_most}}},
        lambda seen: seen.job is not None and seen.job.sweep.at_most == at_most,
    )


def change_all(change: Change, sweep: str, found: Sequence[Object], jobs: Jobs) -> int:
    """Of the jobs of the sweep; returns how many were changed.

    Raises:
        UserError: the first that went wrong, or Ctrl-C; it says how far it came.
    """
    names = [each.name for each in change.touched(found)]
    progress = Progress(
        lambda done: (
            f"{done} of {count(len(names), 'job')} of sweep {sweep} were {change.past}. "
            "Next: the same command goes on with the rest."
        )
    )
    with progress.told():
        for name in names:
            with progress.step(f"{name} is being {change.past}"):
                progress.done += change.apply(jobs, name)
    return progress.done
