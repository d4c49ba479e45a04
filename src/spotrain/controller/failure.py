"""Failures of the training itself: tried again with growing pauses, then the job fails.

One bad step fails many workers, so what counts is not pods but generations: workers that were
there when the last counted failure happened, and fail within a minute of it, fell with it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from spotrain.controller.disruption import find_disruptions
from spotrain.controller.model import DeletePod, Observed, PodView
from spotrain.controller.status import FailureMark
from spotrain.job import ElasticJob

FIRST_PAUSE_SECONDS: Final = 10
LONGEST_PAUSE_SECONDS: Final = 360
CASCADE_SECONDS: Final = 60
"""Peers of a failed worker fail within this time of it, if they do."""
HEALTHY_SECONDS: Final = 600
"""After so long without a failure the pauses begin at the first one again."""


@dataclass(frozen=True)
class Failures:
    fresh: tuple[PodView, ...]
    """Failed pods that were not seen before."""
    total: int
    """Failures that count, over the life of the job."""
    is_new: bool
    """Was one added now?"""
    mark: FailureMark | None
    waiting: tuple[PodView, ...]
    """Failed pods that stay, with their logs, until the pause is over, or for good."""
    removals: tuple[DeletePod, ...]
    retry_at: datetime | None


def limit(job: ElasticJob) -> int:
    """How many failures are forgiven."""
    return 0 if job.restart_policy == "Never" else job.run_policy.backoff_limit


def pause(mark: FailureMark) -> timedelta:
    """The pause after a failure: it doubles with every one that follows without a healthy time."""
    doublings = min(mark.streak - 1, 10)  # more would pass the longest pause anyway
    return timedelta(seconds=min(FIRST_PAUSE_SECONDS * 2**doublings, LONGEST_PAUSE_SECONDS))


def find_failures(job: ElasticJob, observed: Observed, now: datetime) -> Failures:
    """Workers that failed by themselves, what they add to the count, and when to try again."""
    status, taken = observed.status, find_disruptions(job, observed, now).taken
    failed = [
        pod
        for pod in observed.pods
        if pod.phase == "Failed" and not pod.deleting and pod.uid not in taken
    ]
    fresh = tuple(pod for pod in failed if pod.uid not in status.counted_pods)
    last = status.last_failure
    is_new = bool(fresh) and not _fell_together(fresh, last, now)
    mark = _next_mark(last, now) if is_new else last
    total = status.restarts.failures + is_new
    retry_at = mark.at + pause(mark) if mark else now
    is_forgiven = total <= limit(job)
    ripe = retry_at <= now and is_forgiven
    return Failures(
        fresh=fresh,
        total=total,
        is_new=is_new,
        mark=mark,
        waiting=() if ripe else tuple(failed),
        removals=tuple(DeletePod(p.name, p.uid, None, "Failed") for p in failed if ripe),
        retry_at=retry_at if failed and not ripe and is_forgiven else None,
    )


def _fell_together(pods: tuple[PodView, ...], last: FailureMark | None, now: datetime) -> bool:
    if last is None or now - last.at > timedelta(seconds=CASCADE_SECONDS):
        return False
    return all(pod.created_at <= last.at for pod in pods)


def _next_mark(last: FailureMark | None, now: datetime) -> FailureMark:
    if last is None or now - last.at > pause(last) + timedelta(seconds=HEALTHY_SECONDS):
        return FailureMark(at=now, streak=1)
    return FailureMark(at=now, streak=last.streak + 1)
