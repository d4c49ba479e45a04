"""What each event changes in a job's state, before it is asked what follows from it."""

from collections.abc import Mapping
from dataclasses import replace

from spotrain.worlds.events import (
    AnswerCommit,
    Command,
    CommitAsked,
    Drained,
    Ended,
    Event,
    Failed,
    Finished,
    FloorFound,
    Joined,
    Leaving,
    LimitsChanged,
    Lost,
    Publish,
    Ready,
    Recorded,
    Restart,
    Saved,
    Stalled,
    Starting,
    Step,
    Tick,
    Trained,
)
from spotrain.worlds.questions import is_active, is_finishing, trains
from spotrain.worlds.state import Cause, Member, MemberState, Phase, Reason, State

DRAIN_SHARE = 0.75
"""Of a notice; the rest is kept back, so that a drain that fails is known before the kill."""


def take(state: State, event: Event, now: float) -> Step:
    match event:
        case Joined():
            return _join(state, event)
        case Starting() | Ready() if _is_stale(state, event):
            return state, []
        case Starting():
            return _with(state, event.id, {"state": MemberState.STARTING, "left": True}), []
        case Ready():
            return _raise_floor(_with(state, event.id, _ready(event)), event.floor, own=False)
        case FloorFound():
            return _raise_floor(state, event.number, own=True)
        case Leaving():
            return _leave(state, event, now), []
        case Drained():
            return _drained(state, event), []
        case Lost():
            return _lose(state, event)
        case Failed():
            return _fail(state, event)
        case Trained():
            return _mark_trained(state, event), []
        case Finished():
            return _finish(state, event), []
        case CommitAsked():
            return state, [_answer(state, event)]
        case Saved():
            newest = max(event.checkpoint, state.newest or event.checkpoint)
            return replace(state, newest=newest), []
        case Recorded():
            return _publish(state, event)
        case Stalled():
            return _stall(state, event)
        case LimitsChanged():
            return replace(state, limits=event.limits), []
        case Tick():
            return state, []


def _answer(state: State, event: CommitAsked) -> AnswerCommit:
    """A coordinator that has restarted refuses nobody before it knows which world trains."""
    accepted = None
    if state.recover_until is None:
        accepted = trains(state) and is_active(state, event.id, event.checkpoint.world)
    return AnswerCommit(id=event.id, checkpoint=event.checkpoint, accepted=accepted)


def _with(state: State, id: str, changes: Mapping[str, object]) -> State:
    member = state.members.get(id)
    if member is None:
        return state
    changed = replace(member, **changes)  # type: ignore[arg-type]
    return replace(state, members={**state.members, id: changed})


def _ready(event: Ready) -> dict[str, object]:
    return {
        "state": MemberState.READY,
        "port": event.port,
        "survivor": event.survivor,
        "left": True,
    }


def _join(state: State, event: Joined) -> Step:
    member = Member(
        id=event.id,
        address=event.address,
        ranks=event.ranks,
        joined=state.arrivals,
        claim=event.claim,
        finished=event.finished,
        left=event.left,
    )
    commands: list[Command] = []
    if event.claim is not None:
        current = state.world
        is_current = current is not None and current.number == event.claim.number
        if event.left:
            recovers = state.recover_until is not None  # then all it has been in is of interest
            stopped = MemberState.DRAINED if recovers else MemberState.STARTING
            member = replace(member, state=stopped, claim=event.claim if recovers else None)
        elif is_current and event.finished and state.phase is not Phase.FORMING:
            member = replace(member, state=MemberState.FINISHED, claim=None)
            if not trains(state) and state.recover_until is None:
                commands = [Restart(world=event.claim.number, ids=(event.id,))]
            state = replace(state, finished=state.finished | {event.id})
        elif is_current and trains(state):
            member = replace(member, state=MemberState.ACTIVE, claim=None)
        elif state.recover_until is None:
            # It trains in a world that is over; whoever has lost its connection learns it here.
            commands = [Restart(world=event.claim.number, ids=(event.id,))]
            member = replace(member, claim=None)
    members = {**state.members, event.id: member}
    return replace(state, members=members, arrivals=state.arrivals + 1), commands


def _is_stale(state: State, event: Starting | Ready) -> bool:
    """Said before the member heard that it is in the present world."""
    number = state.world.number if state.world is not None else 0
    known = event.world is None or event.world >= number
    return not known and is_active(state, event.id, number)


def _raise_floor(state: State, floor: int, *, own: bool) -> Step:
    """Worlds are numbered above `floor`. `own`: it cannot stem from the present world itself."""
    state = replace(state, number=max(state.number, floor))
    if state.pending is not None and state.pending.number <= floor:
        return replace(state, phase=Phase.WAITING, pending=None), []
    if state.world is None or not trains(state) or state.world.number > floor - (not own):
        return state, []
    return break_world(state, Reason.RENUMBERED, f"the output holds checkpoints of world {floor}")


def _leave(state: State, event: Leaving, now: float) -> State:
    state = _with(state, event.id, {"leaving_by": now + event.seconds})
    if state.drain_deadline is None:
        return state
    sooner = now + DRAIN_SHARE * event.seconds
    return replace(state, drain_deadline=min(state.drain_deadline, sooner))


def _drained(state: State, event: Drained) -> State:
    if not is_active(state, event.id, event.world):
        return state
    return _with(state, event.id, {"state": MemberState.DRAINED})


def _lose(state: State, event: Lost) -> Step:
    lost = state.members.get(event.id)
    if lost is None:
        return state, []
    trained = state.world is not None and is_active(state, event.id, state.world.number)
    over = state.phase is Phase.FORMING or (not trains(state) and state.ending is None)
    members = {id: member for id, member in state.members.items() if id != event.id}
    state = replace(state, members=members)
    if not trained or over:
        return state, []
    return break_world(state, Reason.LOSS, f"{event.id} is gone")


def _fail(state: State, event: Failed) -> Step:
    if not is_active(state, event.id, event.world):
        # A coordinator that has restarted learns that the world is being left.
        return _with(state, event.id, {"left": True}), []
    if event.hard:
        state = _with(state, event.id, {"state": MemberState.STARTING})
    reason = Reason.LOSS if event.excused else Reason.FAILURE
    message = event.message
    if state.finished:
        message += f" (after {', '.join(sorted(state.finished))} had finished)"
    return break_world(state, reason, message, event.cause)


def _mark_trained(state: State, event: Trained) -> State:
    if not trains(state) or not is_active(state, event.id, event.world):
        return state
    return _without_planned_change(replace(state, trained=state.trained | {event.id}))


def _finish(state: State, event: Finished) -> State:
    """Also counts in a world that has just broken: all of its members may have finished in it."""
    if state.phase is Phase.FORMING or not is_active(state, event.id, event.world):
        return state
    state = _with(state, event.id, {"state": MemberState.FINISHED})
    return _without_planned_change(replace(state, finished=state.finished | {event.id}))


def _without_planned_change(state: State) -> State:
    """Its members are about to end: a planned stop has no deadline, and growth is not worth it."""
    return replace(state, drain_deadline=None, growth_since=None)


def _stall(state: State, event: Stalled) -> Step:
    is_meant = state.world is not None and state.world.number == event.world
    if not is_meant or state.phase is not Phase.RUNNING or is_finishing(state):
        return state, []
    return break_world(state, Reason.STALL, event.message)


def _is_graver(state: State, reason: Reason, cause: Cause) -> bool:
    """Whether a world's end is reported with this reason instead of the one that is known."""
    if state.ending is Reason.LOSS:
        return False
    if state.ending is Reason.STALL and reason is Reason.FAILURE:
        return False  # the ranks that hang are killed, and the others fail because of that
    if state.ending is reason and state.ending_message:
        return cause > state.ending_cause
    return True


def break_world(state: State, reason: Reason, message: str, cause: Cause = Cause.SYMPTOM) -> Step:
    """End the current world without agreement: all of its members must leave it now.

    Members that have finished in it are asked as well: they join the next world.
    """
    assert state.world is not None
    graver = _is_graver(state, reason, cause)
    ended = replace(state, phase=Phase.WAITING, drain_deadline=None, growth_since=None)
    commands: list[Command] = []
    if graver:
        ended = replace(ended, ending=reason, ending_message=message, ending_cause=cause)
        commands.append(Ended(world=state.world.number, reason=reason, message=message))
    if trains(state):
        # To all of them: an agent that is not in that world ignores it.
        ids = tuple(member.id for member in ended.seated())
        commands.append(Restart(world=state.world.number, ids=ids))
    return ended, commands


def _publish(state: State, event: Recorded) -> Step:
    pending = state.pending
    if state.phase is not Phase.FORMING or pending is None or pending.number != event.number:
        return state, []
    state = replace(state, phase=Phase.WAITING, pending=None)
    if not all(id in state.members and state.members[id].is_candidate for id in pending.ids):
        return state, []  # somebody went while the number was written: form anew, one number higher
    seated = {id: replace(state.members[id], state=MemberState.ACTIVE) for id in pending.ids}
    return replace(
        state,
        phase=Phase.RUNNING,
        world=pending,
        members={**state.members, **seated},
        enough_since=None,
        trained=frozenset(),
        finished=frozenset(),
    ), [Publish(world=pending)]
