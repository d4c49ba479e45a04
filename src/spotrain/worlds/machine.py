"""The life of a job as a sequence of worlds: a pure state machine.

A world is the set of agents that train together now, under a number that only rises. `on` takes
the state, one event and the time, and returns the next state and the commands to carry out; it
reads no clock and talks to nobody. `next_deadline` says when a `Tick` is due at the latest.

    waiting --Record--> forming --Publish--> running --AskDrain--> draining --> waiting ... closed
                                        running, draining --Restart (a loss)--> waiting

Rules that hold for every sequence of events:
- world numbers only rise, and a number is durable (`Record`, `Recorded`) before it is published;
- a new world forms only when every member of the last one has stopped, left or is gone;
- a commit is accepted from the current world only, while it runs or drains;
- a planned change (notice, growth) first drains; past its deadline it becomes a loss;
- a failure counts as a restart only if no member was lost in the same world.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from spotrain.worlds.events import (
    Adopted,
    AnswerCommit,
    AskDrain,
    Close,
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
    Record,
    Recorded,
    Release,
    Restart,
    Saved,
    Starting,
    Tick,
)
from spotrain.worlds.state import (
    Limits,
    Member,
    MemberState,
    Phase,
    Reason,
    Seat,
    State,
    World,
)

Step = tuple[State, list[Command]]

DRAIN_SHARE = 0.75
"""Of a notice; the rest is kept back, so that a drain that fails is known before the kill."""


def start(limits: Limits, *, number: int = 0, now: float = 0.0) -> State:
    """A job's state; `number` is the last durable world number (0: the job never had a world)."""
    recover_until = now + limits.recovery_seconds if number else None
    return State(limits=limits, number=number, recover_until=recover_until)


def on(state: State, event: Event, now: float) -> Step:
    """Take one event. Events that name a world other than the current one change nothing."""
    if state.phase is Phase.CLOSED:
        return _on_closed(state, event)
    state, commands = _take(state, event, now)
    state, more = _advance(state, now)
    return state, commands + more


def next_deadline(state: State) -> float | None:
    """When a `Tick` would change something, or None."""
    if state.phase is Phase.CLOSED:
        return None
    limits = state.limits
    due = [state.drain_deadline, state.recover_until]
    if state.enough_since is not None:
        due.append(state.enough_since + limits.gather_seconds)
    if state.growth_since is not None:
        due.append(state.growth_since + limits.growth_delay_seconds)
    return min((at for at in due if at is not None), default=None)


def choose_size(limits: Limits, available: int) -> int:
    """The size of the world that `available` members can form; 0 if none."""
    most = min(available, limits.max_size)
    sizes: Iterable[int] = limits.allowed_sizes or range(limits.min_size, most + 1)
    return max((size for size in sizes if limits.min_size <= size <= most), default=0)


# --- What each event changes ------------------------------------------------------------


def _take(state: State, event: Event, now: float) -> Step:
    match event:
        case Joined():
            return _join(state, event)
        case Starting():
            return _with(state, event.id, {"state": MemberState.STARTING}), []
        case Ready():
            return _with(state, event.id, _ready(event)), []
        case FloorFound():
            return _raise_floor(state, event)
        case Leaving():
            return _leave(state, event, now), []
        case Drained():
            return _drained(state, event), []
        case Lost():
            return _lose(state, event)
        case Failed():
            return _fail(state, event)
        case Finished():
            return _finish(state, event)
        case CommitAsked():
            accepted = _trains(state) and _is_active(state, event.id, event.checkpoint.world)
            return state, [
                AnswerCommit(id=event.id, checkpoint=event.checkpoint, accepted=accepted)
            ]
        case Saved():
            newest = max(event.checkpoint, state.newest or event.checkpoint)
            return replace(state, newest=newest), []
        case Recorded():
            return _publish(state, event)
        case LimitsChanged():
            return replace(state, limits=event.limits), []
        case Tick():
            return state, []


def _on_closed(state: State, event: Event) -> Step:
    if isinstance(event, Joined):
        return state, [Close(outcome=state.outcome, message=state.message)]
    if isinstance(event, CommitAsked):
        return state, [AnswerCommit(id=event.id, checkpoint=event.checkpoint, accepted=False)]
    return state, []


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
        "claim": None,
    }


def _join(state: State, event: Joined) -> Step:
    member = Member(
        id=event.id,
        address=event.address,
        ranks=event.ranks,
        joined=state.arrivals,
        claim=event.claim,
    )
    commands: list[Command] = []
    if event.claim is not None:
        current = state.world
        if current and current.number == event.claim.number and _trains(state):
            member = replace(member, state=MemberState.ACTIVE, claim=None)
        elif state.recover_until is None:
            # It trains in a world that is over; whoever has lost its connection learns it here.
            commands = [Restart(world=event.claim.number, ids=(event.id,))]
            member = replace(member, claim=None)
    members = {**state.members, event.id: member}
    return replace(state, members=members, arrivals=state.arrivals + 1), commands


def _raise_floor(state: State, event: FloorFound) -> Step:
    state = replace(state, number=max(state.number, event.number))
    if state.pending is not None and state.pending.number <= event.number:
        return replace(state, phase=Phase.WAITING, pending=None), []
    if state.world is None or state.world.number > event.number or not _trains(state):
        return state, []
    return _break(state, Reason.LIMITS, f"the output holds checkpoints of world {event.number}")


def _leave(state: State, event: Leaving, now: float) -> State:
    state = _with(state, event.id, {"leaving_by": now + event.seconds})
    if state.drain_deadline is None:
        return state
    sooner = now + DRAIN_SHARE * event.seconds
    return replace(state, drain_deadline=min(state.drain_deadline, sooner))


def _drained(state: State, event: Drained) -> State:
    if not _is_active(state, event.id, event.world):
        return state
    return _with(state, event.id, {"state": MemberState.DRAINED})


def _lose(state: State, event: Lost) -> Step:
    lost = state.members.get(event.id)
    if lost is None:
        return state, []
    trained = state.world is not None and _is_active(state, event.id, state.world.number)
    over = state.phase is Phase.FORMING or (not _trains(state) and state.ending is None)
    finishing = _is_finishing(state)
    members = {id: member for id, member in state.members.items() if id != event.id}
    state = replace(state, members=members)
    if not trained or over or finishing:
        return state, []
    return _break(state, Reason.LOSS, f"{event.id} is gone")


def _fail(state: State, event: Failed) -> Step:
    if not _is_active(state, event.id, event.world):
        return state, []
    if _is_finishing(state):  # training is done; who fails while leaving changes nothing
        return _with(state, event.id, {"state": MemberState.FINISHED}), []
    if event.hard:
        state = _with(state, event.id, {"state": MemberState.STARTING})
    return _break(state, Reason.FAILURE, event.message)


def _finish(state: State, event: Finished) -> Step:
    """Also counts in a world that has just broken: who finished shows that training is done."""
    if state.phase is Phase.FORMING or not _is_active(state, event.id, event.world):
        return state, []
    state = _with(state, event.id, {"state": MemberState.FINISHED})
    return replace(state, drain_deadline=None), []


def _break(state: State, reason: Reason, message: str) -> Step:
    """The current world is over without agreement: all of its members must leave it now."""
    assert state.world is not None
    graver = state.ending is None or not (
        state.ending is Reason.LOSS or (state.ending is reason and state.ending_message)
    )
    ended = replace(state, phase=Phase.WAITING, drain_deadline=None, growth_since=None)
    commands: list[Command] = []
    if graver:
        ended = replace(ended, ending=reason, ending_message=message)
        commands.append(Ended(world=state.world.number, reason=reason))
    if _trains(state):
        ids = tuple(m.id for m in ended.seated() if m.state is MemberState.ACTIVE)
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
    ), [Publish(world=pending)]


# --- What follows from the state, whatever event led to it ------------------------------


def _advance(state: State, now: float) -> Step:
    if _is_finishing(state):
        return _close_when_all_finished(state)
    match state.phase:
        case Phase.RUNNING:
            return _plan_change(state, now)
        case Phase.DRAINING:
            return _watch_drain(state, now)
        case Phase.WAITING:
            return _form(state, now)
        case _:
            return state, []


def _close_when_all_finished(state: State) -> Step:
    assert state.world is not None
    if any(member.state is MemberState.ACTIVE for member in state.seated()):
        return state, []
    number = state.world.number
    state, commands = _close(state, "succeeded", f"training ended in world {number}")
    return state, [Ended(world=number, reason=Reason.FINISHED), *commands]


def _close(state: State, outcome: str, message: str) -> Step:
    closed = replace(
        state, phase=Phase.CLOSED, outcome=outcome, message=message, ending=None, pending=None
    )
    return closed, [Close(outcome=outcome, message=message)]


def _plan_change(state: State, now: float) -> Step:
    """Notices at once; newcomers after the growth delay; a lowered maximum at once."""
    seated = state.seated()
    stays = [member for member in seated if member.leaving_by is None]
    newcomers = [member for member in state.members.values() if member.is_candidate]
    target = choose_size(state.limits, len(stays) + len(newcomers))
    if len(stays) < len(seated):
        return _drain(state, Reason.NOTICE, now)
    if len(seated) > state.limits.max_size:
        return _drain(state, Reason.LIMITS, now)
    if target <= len(seated):
        return replace(state, growth_since=None), []
    since = now if state.growth_since is None else state.growth_since
    if now < since + state.limits.growth_delay_seconds:
        return replace(state, growth_since=since), []
    return _drain(state, Reason.GROWTH, now)


def _drain(state: State, reason: Reason, now: float) -> Step:
    assert state.world is not None
    deadlines = [m.leaving_by for m in state.seated() if m.leaving_by is not None]
    remaining = min((at - now for at in deadlines), default=state.limits.drain_seconds)
    seconds = max(0.0, min(state.limits.drain_seconds, DRAIN_SHARE * remaining))
    ids = tuple(m.id for m in state.seated() if m.state is MemberState.ACTIVE)
    ask = AskDrain(world=state.world.number, ids=ids, seconds=seconds, reason=reason)
    draining = replace(
        state,
        phase=Phase.DRAINING,
        ending=reason,
        ending_message="",
        drain_deadline=now + seconds,
        growth_since=None,
    )
    return draining, [ask, Ended(world=state.world.number, reason=reason)]


def _watch_drain(state: State, now: float) -> Step:
    if not any(member.state is MemberState.ACTIVE for member in state.seated()):
        state, formed = _form(replace(state, phase=Phase.WAITING, drain_deadline=None), now)
        return state, [*_release(state), *formed]
    assert state.drain_deadline is not None
    if now < state.drain_deadline:
        return state, []
    state, commands = _break(state, Reason.LOSS, "the planned stop passed its deadline")
    state, more = _form(state, now)
    return state, commands + more


def _release(state: State) -> list[Command]:
    ids = tuple(member.id for member in state.seated() if member.leaving_by is not None)
    return [Release(world=state.world.number, ids=ids)] if state.world and ids else []


def _form(state: State, now: float) -> Step:
    """Once the last world is left by all, form the next one from whoever is ready."""
    if state.recover_until is not None:
        return _recover(state, now)
    if _is_being_left(state):
        return state, []
    if state.ending is Reason.FAILURE:
        state = replace(state, restarts=state.restarts + 1)
        if state.restarts > state.limits.max_restarts:
            return _close(state, "failed", _failure_message(state))
    state = replace(state, ending=None)
    candidates = _in_rank_order(state)
    size = choose_size(state.limits, len(candidates))
    if size == 0:
        return replace(state, enough_since=None), []
    since = now if state.enough_since is None else state.enough_since
    if _is_worth_waiting(state, candidates) and now < since + state.limits.gather_seconds:
        return replace(state, enough_since=since), []
    return _record(state, candidates[:size])


def _record(state: State, members: list[Member]) -> Step:
    number = state.number + 1
    pending = World(
        number=number,
        seats=tuple(Seat(id=m.id, address=m.address, ranks=m.ranks) for m in members),
        store_port=members[0].port,
        restore=state.newest,
    )
    forming = replace(state, phase=Phase.FORMING, number=number, pending=pending, enough_since=None)
    return forming, [Record(number=number)]


def _recover(state: State, now: float) -> Step:
    """After a restart of the coordinator: adopt the world that a majority of it still trains in."""
    claims = [member.claim for member in state.members.values() if member.claim is not None]
    highest = max(claims, key=lambda claim: claim.number, default=None)
    if highest is not None:
        named = [claim for claim in claims if claim.number == highest.number]
        if 2 * len(named) > highest.size:
            return _adopt(state, highest)
    if state.recover_until is None or now < state.recover_until:
        return state, []
    commands: list[Command] = [
        Restart(world=member.claim.number, ids=(id,))
        for id, member in state.members.items()
        if member.claim is not None
    ]
    members = {id: replace(member, claim=None) for id, member in state.members.items()}
    state, more = _form(replace(state, members=members, recover_until=None), now)
    return state, commands + more


def _adopt(state: State, world: World) -> Step:
    """Who of the world is not back yet has no connection to lose: it is taken as lost now."""
    members = {
        id: replace(member, claim=None, state=MemberState.ACTIVE)
        if member.claim is not None and member.claim.number == world.number
        else replace(member, claim=None)
        for id, member in state.members.items()
    }
    adopted = replace(
        state,
        phase=Phase.RUNNING,
        world=world,
        number=max(state.number, world.number),
        members=members,
        recover_until=None,
    )
    if all(id in members for id in world.ids):
        return adopted, [Adopted(world=world)]
    message = "a member did not return after the coordinator's restart"
    broken, commands = _break(adopted, Reason.LOSS, message)
    return broken, [Adopted(world=world), *commands]


# --- Questions --------------------------------------------------------------------------


def _trains(state: State) -> bool:
    return state.phase in (Phase.RUNNING, Phase.DRAINING)


def _is_active(state: State, id: str, world: int) -> bool:
    """Whether the member trains in (or has not yet left) the last world, and that is `world`."""
    member = state.members.get(id)
    return (
        state.world is not None
        and state.world.number == world
        and id in state.world.ids
        and member is not None
        and member.state is MemberState.ACTIVE
    )


def _is_finishing(state: State) -> bool:
    """Some rank returned from training: nothing re-forms any more."""
    if state.phase is Phase.FORMING:
        return False
    return any(member.state is MemberState.FINISHED for member in state.seated())


def _is_being_left(state: State) -> bool:
    """Whether somebody has not left the last world yet; who leaves on a notice ends by itself."""
    stopping = (MemberState.ACTIVE, MemberState.DRAINED)
    return any(m.state in stopping and m.leaving_by is None for m in state.seated())


def _is_worth_waiting(state: State, candidates: list[Member]) -> bool:
    """Whether others will be ready soon. A survivor never waits for the others' imports."""
    if any(member.survivor for member in candidates):
        return False
    starting = [
        member
        for member in state.members.values()
        if member.state is MemberState.STARTING and member.leaving_by is None
    ]
    is_first = state.world is None
    return bool(starting) or (is_first and len(candidates) < state.limits.desired_size)


def _in_rank_order(state: State) -> list[Member]:
    """Candidates: those of the last world in their order, so that rank 0 holds the newest state."""
    before = {id: rank for rank, id in enumerate(state.world.ids)} if state.world else {}
    candidates = [member for member in state.members.values() if member.is_candidate]
    last = len(before)
    return sorted(candidates, key=lambda m: (not m.survivor, before.get(m.id, last), m.joined))


def _failure_message(state: State) -> str:
    limit = state.limits.max_restarts
    cause = state.ending_message or "the script failed"
    return f"{cause} (restarts allowed: {limit}, all used)"
