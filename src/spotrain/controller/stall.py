"""A world that does no step any more: somebody hangs, and torch may wait for half an hour.

The coordinator asks its agents where the ranks are, for a few seconds at most, and restarts it from
its last checkpoint; ranks that do not leave by themselves are killed by their agents, and the pods
stay. That counts against the backoff limit: a training that always hangs at the same place must not
pay for GPUs for ever. Decision 0018 has the reasons.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from spotrain.controller.model import Observed, RestartWorld, WorldView
from spotrain.controller.status import Stall
from spotrain.job import ElasticJob


@dataclass(frozen=True)
class Stalling:
    restart: RestartWorld | None
    mark: Stall | None
    """The last stall of the job, this one included."""
    is_new: bool
    look_again: datetime | None
    finding: str = ""
    """Which ranks hung, told once: as soon as the coordinator knows it."""


def allowed_seconds(job: ElasticJob, world: WorldView | None) -> int:
    """How long the job may take for its next step; 0: for ever."""
    if world is not None and world.awaits_first_step:
        return job.elastic.first_step_deadline_seconds
    return job.elastic.progress_deadline_seconds


def find_stall(job: ElasticJob, observed: Observed, now: datetime) -> Stalling:
    """Has the world gone on within the deadline for its next step?

    Only a script that tells of its steps is judged, which one without the training library never
    does. The job's first step may wait for a download or a compiler, and has a deadline of its own.
    From then on the first step of each world has as long as any other, counted from the world's
    beginning.
    """
    world = observed.world
    mark, finding = _with_finding(observed.status.last_stall, world)
    due = _due(job, observed, world, now)
    if world is None or due is None:
        return Stalling(None, mark, False, None, finding)
    if now < due:
        return Stalling(None, mark, False, due, finding)
    seconds = allowed_seconds(job, world)
    message = (
        f"world {world.number} has not done the job's first step within {seconds} s, "
        "spec.elastic.firstStepDeadlineSeconds"
        if world.awaits_first_step
        else f"world {world.number} has done no step after {world.step} for {seconds} s, "
        "spec.elastic.progressDeadlineSeconds"
    )
    is_new = mark is None or mark.world != world.number
    stall = Stall(world.number, world.step, now) if is_new else mark
    return Stalling(RestartWorld(world.number, message), stall, is_new, None, finding)


def _with_finding(mark: Stall | None, world: WorldView | None) -> tuple[Stall | None, str]:
    """The last stall with the coordinator's words on it, and those words if they are new."""
    stalled = world.stalled if world else None
    if mark is None or stalled is None or stalled.number != mark.world or mark.message:
        return mark, ""
    return replace(mark, message=stalled.message), stalled.message


def _due(
    job: ElasticJob, observed: Observed, world: WorldView | None, now: datetime
) -> datetime | None:
    """When the present world must have done its next step; None: nobody can say."""
    seconds, told = allowed_seconds(job, world), observed.status.progress
    if not seconds or job.rdzv_endpoint or world is None or world.phase != "running":
        return None
    if not world.size:
        return None
    if world.awaits_first_step:
        return world.since + timedelta(seconds=seconds)
    if not world.step:
        return None
    if told is None or told.step != world.step:  # a step that is not on record yet is a new one
        return now + timedelta(seconds=seconds)
    return max(world.since, told.at) + timedelta(seconds=seconds)
