"""Jobs that run, or nearly do: their world, and what has befallen it."""

from collections.abc import Iterator
from datetime import timedelta

from spotrain.controller.conditions import BELOW_MIN
from spotrain.controller.replicas import least
from spotrain.controller.status import RUNNING
from spotrain.counts import count
from spotrain.explain.cause import RECENT, Cause, Gravity, clock, ended
from spotrain.explain.situation import Case


def find_hang(case: Case) -> Iterator[Cause]:
    stall, progress = case.status.last_stall, case.status.progress
    if stall is None:
        return
    went_on = progress is not None and progress.step > stall.step and progress.at > stall.at
    if went_on and case.now - stall.at > RECENT:
        return
    who = f" {ended(stall.message)}" if stall.message else ""
    after = f" It has gone on since, to step {progress.step:,}." if went_on and progress else ""
    yield Cause(
        reason="Hang",
        gravity=Gravity.NOTED if went_on else Gravity.WAITING,
        said=f"World {stall.world} did no step after {stall.step:,} and was restarted from its "
        f"last checkpoint at {clock(stall.at)}.{who}{after}",
        command=case.logs(),
    )


def find_silence(case: Case) -> Iterator[Cause]:
    """Training that told of steps and tells of none, before its deadline is over."""
    job, progress, stall = case.job, case.status.progress, case.status.last_stall
    if job is None or progress is None or not case.trains or not progress.step:
        return
    deadline = job.elastic.progress_deadline_seconds
    quiet = case.now - progress.at
    if not deadline or quiet < timedelta(seconds=deadline) / 2:
        return
    if stall is not None and stall.at > progress.at:
        return
    due = progress.at + timedelta(seconds=deadline)
    yield Cause(
        reason="NoStepLately",
        gravity=Gravity.WAITING,
        said=f"It has told of no step after {progress.step:,} since {clock(progress.at)}. If none "
        f"comes by {clock(due)}, its world is restarted from the last checkpoint "
        "(spec.elastic.progressDeadlineSeconds).",
        command=case.logs(),
    )


def find_below_min(case: Case) -> Iterator[Cause]:
    running = case.condition(RUNNING)
    if case.job is None or running.reason != BELOW_MIN or running.status == "True":
        return
    ready, needed = case.status.workers.ready, least(case.job, case.pods)
    at = running.last_transition_time
    since = f" since {clock(at)}" if at else ""
    progress = case.status.progress
    has_trained = progress is not None and progress.step > 0
    does = "has trained, and stands" if has_trained else "stands"
    then = "goes on from its last checkpoint" if has_trained else "begins"
    yield Cause(
        reason=BELOW_MIN,
        gravity=Gravity.WAITING,
        said=f"It {does} still{since} with {ready} of the {count(needed, 'worker')} that it needs; "
        f"it {then} when they are there.",
        command=f"spotrain status {case.name}",
    )


def find_losses(case: Case) -> Iterator[Cause]:
    """What has taken a worker away, while it matters."""
    mark = case.status.last_disruption
    if mark is None or case.now - mark.at > RECENT:
        return
    event = case.told("Preempted")
    when, where = clock(mark.at), f" on {mark.node}" if mark.node else ""
    if event and event.name == mark.pod:
        reason = "Preempted"
        said = f"A more important job took the place of {mark.pod}{where} at {when}."
    elif mark.reason == "NodeLost":
        reason = "NodeLost"
        said = f"{mark.node}, the node of {mark.pod}, was given up as lost at {when}."
    elif mark.reason.startswith("taint "):
        reason = "NodeLeaving"
        said = (
            f"{mark.pod} left{where.replace(' on', '')} at {when}, which is to go ({mark.reason})."
        )
    else:
        reason = "WorkerTaken"
        said = f"{mark.pod} was taken away{where} at {when} ({mark.reason})."
    back = case.trains and case.job and case.status.workers.ready >= case.job.replicas
    yield Cause(
        reason=reason,
        gravity=case.unless_it_trains(Gravity.COMING),
        said=f"{said} {'It has been' if back else 'It is'} replaced; no failure is counted.",
        command=f"spotrain status {case.name}",
    )


def find_spares(case: Case) -> Iterator[Cause]:
    job, world = case.job, case.status.world
    if job is None or world is None or not case.trains or not job.elastic.allowed_replicas:
        return
    spares = case.status.workers.ready - world.size
    if spares > 0:
        sizes = ", ".join(str(size) for size in sorted(job.elastic.allowed_replicas))
        yield Cause(
            reason="Spare",
            gravity=Gravity.NOTED,
            said=f"{spares} of its {count(case.status.workers.ready, 'worker')} stand by: a "
            f"world may have {sizes} workers (spec.elastic.allowedReplicas). They take over at "
            "once when another is lost, and cost as much meanwhile.",
            command=f"spotrain scale {case.name} --help",
        )


def find_state(case: Case) -> Iterator[Cause]:
    """Where it stands, when nothing keeps it."""
    world, progress = case.status.world, case.status.progress
    if case.trains and world:
        step = f", step {progress.step:,} at {clock(progress.at)}" if progress else ""
        yield Cause(
            reason="Training",
            gravity=Gravity.NOTED,
            said=f"It trains in world {world.number} of {count(world.size, 'worker')}{step}.",
            command=case.logs("--follow"),
        )
    elif case.trains:
        yield Cause(
            reason="Forming",
            gravity=Gravity.COMING,
            said="Its workers run and are about to form their first world.",
            command=case.logs("--follow"),
        )
    elif any(pod.phase == "Running" and not pod.deleting for pod in case.pods):
        yield Cause(
            reason="WorkersStarting",
            gravity=Gravity.COMING,
            said="Its first workers run; the others are on their way.",
            command=f"spotrain status {case.name}",
        )
    elif not case.pods:
        yield Cause(
            reason="JustMade",
            gravity=Gravity.COMING,
            said="Its workers are about to be created.",
            command=f"spotrain status {case.name}",
        )
    else:
        yield Cause(
            reason="WorkersStarting",
            gravity=Gravity.COMING,
            said="Its workers are being started.",
            command=f"spotrain status {case.name}",
        )
