"""Questions about a job's state."""

from collections.abc import Iterable

from spotrain.worlds.state import Limits, Member, MemberState, Phase, State


def choose_size(limits: Limits, available: int) -> int:
    """The size of the world that `available` members can form; 0 if none."""
    most = min(available, limits.max_size)
    sizes: Iterable[int] = limits.allowed_sizes or range(limits.min_size, most + 1)
    return max((size for size in sizes if limits.min_size <= size <= most), default=0)


def trains(state: State) -> bool:
    return state.phase in (Phase.RUNNING, Phase.DRAINING)


def is_active(state: State, id: str, world: int) -> bool:
    """Whether the member trains in (or has not yet left) the last world, and that is `world`."""
    member = state.members.get(id)
    return (
        state.world is not None
        and state.world.number == world
        and id in state.world.ids
        and member is not None
        and member.state is MemberState.ACTIVE
    )


def is_finishing(state: State) -> bool:
    """Whether training is done on some member: the world is not changed as planned any more."""
    return trains(state) and bool(state.trained | state.finished)


def have_all_finished(state: State) -> bool:
    """Whether every member of the last world has finished in it."""
    is_known = state.phase in (Phase.WAITING, Phase.RUNNING, Phase.DRAINING)
    return is_known and state.world is not None and state.finished.issuperset(state.world.ids)


def is_being_left(state: State) -> bool:
    """Whether somebody has not left the last world yet. Who has stopped in it on a notice ends by
    itself, and is not waited for."""
    return any(
        m.state is MemberState.ACTIVE or (m.state is MemberState.DRAINED and m.leaving_by is None)
        for m in state.seated()
    )


def is_worth_waiting(state: State, candidates: list[Member]) -> bool:
    """Whether others will be ready soon. A survivor never waits for the others' imports, and who
    was in the last world never for those of newcomers."""
    if any(is_survivor(state, member) for member in candidates):
        return False
    before = state.world.ids if state.world else ()
    goes_on = any(member.id in before for member in candidates)
    starting = [
        member
        for member in state.members.values()
        if member.state in (MemberState.STARTING, MemberState.FINISHED)
        and member.leaving_by is None
        and (member.id in before or not goes_on)
    ]
    is_first = state.world is None
    return bool(starting) or (is_first and len(candidates) < state.limits.desired_size)


def is_survivor(state: State, member: Member) -> bool:
    """Whether its processes lived through the last world; a spare's lived through an older one."""
    return member.survivor and state.world is not None and member.id in state.world.ids


def in_rank_order(state: State) -> list[Member]:
    """Candidates: those of the last world in their order, so that rank 0 holds the newest state."""
    before = {id: rank for rank, id in enumerate(state.world.ids)} if state.world else {}
    candidates = [member for member in state.members.values() if member.is_candidate]
    last = len(before)
    return sorted(
        candidates,
        key=lambda m: (not is_survivor(state, m), before.get(m.id, last), m.joined),
    )


def failure_message(state: State) -> str:
    limit = state.limits.max_restarts
    cause = state.ending_message or "the script failed"
    return f"{cause} (restarts allowed: {limit}, all used)"
