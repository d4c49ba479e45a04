"""What an agent's message means for its job."""

from dataclasses import replace

from spotrain import worlds
from spotrain.coordinator import protocol
from spotrain.coordinator.job import Job


def take(job: Job, pod: str, message: protocol.FromAgent) -> None:
    """Turn an agent's message into what it means for the job."""
    match message:
        case protocol.Progress():
            job.take_progress(message)
        case protocol.Saved(world=world, step=step):
            job.take_saved(worlds.Checkpoint(world, step))
        case protocol.Returned():
            job.take_returned(pod, message)
        case protocol.Inspected():
            job.take_inspected(pod, message)
        case protocol.Traffic():
            job.take_traffic(pod, message)
        case protocol.UsesSession(value=value):
            job.uses_session = value
        case protocol.Hello():
            raise protocol.ProtocolError("a second hello")
        case protocol.Failed() if _fell_with_peers(job):
            job.dispatch(_event(pod, replace(message, excused=True)))
        case _:
            job.dispatch(_event(pod, message))


def _fell_with_peers(job: Job) -> bool:
    """Ranks of a plain script are ended by a signal at a planned stop, some ahead of others, whose
    collectives fail with it: no fault of the script. One with the library stops at a step."""
    return not job.uses_session and job.state.phase is worlds.Phase.DRAINING


def _event(pod: str, message: protocol.FromAgent) -> worlds.Event:
    match message:
        case protocol.Starting(world=world):
            return worlds.Starting(id=pod, world=world)
        case protocol.Ready(port=port, survivor=survivor, world=world, floor=floor):
            return worlds.Ready(id=pod, port=port, survivor=survivor, world=world, floor=floor)
        case protocol.FloorFound(number=number):
            return worlds.FloorFound(number=number)
        case protocol.Leaving(seconds=seconds):
            return worlds.Leaving(id=pod, seconds=seconds)
        case protocol.Drained(world=world):
            return worlds.Drained(id=pod, world=world)
        case protocol.Failed():
            return worlds.Failed(
                id=pod,
                world=message.world,
                hard=message.hard,
                message=message.message,
                excused=message.excused,
                cause=_cause(message),
            )
        case protocol.Trained(world=world):
            return worlds.Trained(id=pod, world=world)
        case protocol.Finished(world=world):
            return worlds.Finished(id=pod, world=world)
        case protocol.Commit(world=world, step=step):
            return worlds.CommitAsked(id=pod, checkpoint=worlds.Checkpoint(world, step))
        case _:
            raise protocol.ProtocolError(f"{type(message).__name__} is not an event")


def _cause(message: protocol.Failed) -> worlds.Cause:
    by_name = {cause.name.lower(): cause for cause in worlds.Cause}
    unknown = worlds.Cause.EXIT if message.hard else worlds.Cause.SYMPTOM
    return by_name.get(message.cause, unknown)
