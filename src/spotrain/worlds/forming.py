"""What follows from a job's state, whatever event led to it: drains, new worlds, the end."""

from dataclasses import replace

from spotrain.worlds.changes import DRAIN_SHARE, break_world
from spotrain.worlds.events import (
    Adopted,
    AskDrain,
    Close,
    Command,
    Ended,
    Record,
    Release,
    Restart,
    Step,
)
from spotrain.worlds.questions import (
    choose_size,
    failure_message,
    have_all_finished,
    in_rank_order,
    is_being_left,
    is_finishing,
    is_worth_waiting,
)
from spotrain.worlds.state import Member, MemberState, Phase, Reason, Seat, State, World


def advance(state: State, now: float) -> Step:
    if have_all_finished(state):
        return _succeed(state)
    if is_finishing(state):
        return _watch_finish(state, now)
    match state.phase:
        case Phase.RUNNING:
            return _plan_change(state, now)
        case Phase.DRAINING:
            return _watch_drain(state, now)
        case Phase.WAITING:
            return _form(state, now)
        case _:
            return state, []


def _succeed(state: State) -> Step:
    assert state.world is not None
    number = state.world.number
    state, commands = _close(state, "succeeded", f"training ended in world {number}")
    return state, [Ended(world=number, reason=Reason.FINISHED), *commands]


def _watch_finish(state: State, now: float) -> Step:
    """Training is done on some members. The others finish soon, or stop in a planned stop."""
    if any(member.state is MemberState.ACTIVE for member in state.seated()):
        return state, []
    message = "some members stopped as planned while others finished"
    state, commands = break_world(state, Reason.LOSS, message)
    state, more = _form(state, now)
    return state, commands + more


def _close(state: State, outcome: str, message: str) -> Step:
    closed = replace(
        state, phase=Phase.CLOSED, outcome=outcome, message=message, ending=None, pending=None
    )
    return closed, [Close(outcome=outcome, message=message)]


def _plan_change(state: State, now: float) -> Step:
    """Notices at once; newcomers after the growth delay; a lowered maximum at once."""
    seated = state.seated()
    if any(member.state is MemberState.DRAINED for member in seated):
        # A coordinator that had restarted adopted this world in the midst of its planned stop.
        on_notice = any(member.leaving_by is not None for member in seated)
        return _drain(state, Reason.NOTICE if on_notice else Reason.GROWTH, now)
    if any(member.state is not MemberState.ACTIVE for member in seated):
        return break_world(state, Reason.LOSS, "a member is not in the world it belongs to")
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
    state, commands = break_world(state, Reason.LOSS, "the planned stop passed its deadline")
    state, more = _form(state, now)
    return state, commands + more


def _release(state: State) -> list[Command]:
    ids = tuple(member.id for member in state.seated() if member.leaving_by is not None)
    return [Release(world=state.world.number, ids=ids)] if state.world and ids else []


def _form(state: State, now: float) -> Step:
    """Once the last world is left by all, form the next one from whoever is ready."""
    if state.recover_until is not None:
        return _recover(state, now)
    if is_being_left(state):
        left_by = state.left_by if state.left_by is not None else now + state.limits.leave_seconds
        if now < left_by:
            return replace(state, left_by=left_by), []
        state = _give_up_waiting(state)
    state = replace(state, left_by=None)
    if state.ending in (Reason.FAILURE, Reason.STALL):
        state = replace(state, restarts=state.restarts + 1)
        if state.restarts > state.limits.max_restarts:
            return _close(state, "failed", failure_message(state))
    state = replace(state, ending=None)
    candidates = in_rank_order(state)
    size = choose_size(state.limits, len(candidates))
    if size == 0:
        return replace(state, enough_since=None), []
    since = now if state.enough_since is None else state.enough_since
    if is_worth_waiting(state, candidates) and now < since + state.limits.gather_seconds:
        return replace(state, enough_since=since), []
    return _record(state, candidates[:size])


def _give_up_waiting(state: State) -> State:
    """Somebody has not left: it can commit nothing any more, so the others may go on."""
    stuck = {
        member.id: replace(member, state=MemberState.STARTING)
        for member in state.seated()
        if member.state in (MemberState.ACTIVE, MemberState.DRAINED)
    }
    return replace(state, members={**state.members, **stuck})


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
    """After a restart of the coordinator: adopt the world that its members were in last.

    At once when all of them are back and in it, or all have left it; a while after a majority is
    back; and at the latest, with a majority or without, when the time is over.
    """
    assert state.recover_until is not None
    is_over = now >= state.recover_until
    claims = [member.claim for member in state.members.values() if member.claim is not None]
    highest = max(claims, key=lambda claim: claim.number, default=None)
    since = None
    # Before a higher number was recorded, all had left that world, or were given up.
    if highest is not None and highest.number >= state.number:
        back = [m for m in state.members.values() if m.claim and m.claim.number == highest.number]
        if 2 * len(back) > highest.size:
            since = now if state.majority_since is None else state.majority_since
            is_whole = len(back) == highest.size and len({member.left for member in back}) == 1
            if is_over or is_whole or now >= since + state.limits.return_seconds:
                return _adopt(state, highest, now)
    if not is_over:
        return replace(state, majority_since=since), []
    commands = _call_back(state, 0)
    members = {id: replace(member, claim=None) for id, member in state.members.items()}
    recovered = replace(state, members=members, recover_until=None, majority_since=None)
    state, more = _form(recovered, now)
    return state, commands + more


def _call_back(state: State, adopted: int) -> list[Command]:
    """Whose ranks are in another world than the adopted one must leave it: it is over."""
    return [
        Restart(world=member.claim.number, ids=(id,))
        for id, member in state.members.items()
        if member.claim is not None and member.claim.number != adopted and not member.left
    ]


def _adopt(state: State, world: World, now: float) -> Step:
    """Whoever of the world is not back has no connection to lose: it is taken as lost now."""
    commands = [Adopted(world=world), *_call_back(state, world.number)]
    is_left = any(state.members[id].left for id in world.ids if id in state.members)
    members = {id: _returned(member, world) for id, member in state.members.items()}
    adopted = replace(
        state,
        phase=Phase.RUNNING,
        world=world,
        number=max(state.number, world.number),
        members=members,
        recover_until=None,
        majority_since=None,
        trained=frozenset(),
        finished=frozenset(id for id in world.ids if id in members and _has_finished(members[id])),
    )
    if all(id in members for id in world.ids) and not is_left:
        return adopted, commands
    message = "a member left it, or did not return, while the coordinator was away"
    broken, more = break_world(adopted, Reason.LOSS, message)
    formed, last = _form(broken, now)
    return formed, [*commands, *more, *last]


def _has_finished(member: Member) -> bool:
    return member.state is MemberState.FINISHED


def _returned(member: Member, world: World) -> Member:
    if member.claim is None or member.claim.number != world.number or member.left:
        return replace(member, claim=None)
    training = MemberState.FINISHED if member.finished else MemberState.ACTIVE
    return replace(member, claim=None, state=training)
