"""The life of a job as a sequence of worlds: a pure state machine.

A world is the set of agents that train together now, under a number that only rises. `on` takes
the state, one event and the time, and returns the next state and the commands to carry out; it
reads no clock and does no I/O. `next_deadline` returns when a `Tick` is due at the latest.

    waiting --Record--> forming --Publish--> running --AskDrain--> draining --> waiting ... closed
                                        running, draining --Restart (a loss)--> waiting

Rules that hold for every sequence of events:
- world numbers only rise, and a number is durable (`Record`, `Recorded`) before it is published;
- a new world forms only when every member of the last one has stopped, left or is gone;
- a commit is accepted from the current world only, while it runs or drains;
- a planned change (notice, growth) first drains; past its deadline it becomes a loss;
- a failure counts as a restart only if no member was lost in the same world;
- a job has succeeded once every member of one world has finished in it. Until then a failure or
  loss ends that world as at any other time, and its finished members join the next one.
"""

from spotrain.worlds.changes import take
from spotrain.worlds.events import AnswerCommit, Close, CommitAsked, Event, Joined, Step
from spotrain.worlds.forming import advance
from spotrain.worlds.state import Limits, Phase, State


def start(limits: Limits, *, number: int = 0, restarts: int = 0, now: float = 0.0) -> State:
    """A job's state; `number` is the last durable world number (0: the job never had a world),
    `restarts` how many it has used up."""
    recover_until = now + limits.recovery_seconds if number else None
    return State(limits=limits, number=number, restarts=restarts, recover_until=recover_until)


def on(state: State, event: Event, now: float) -> Step:
    """Apply one event. Events for any world other than the current one are ignored."""
    if state.phase is Phase.CLOSED:
        return _on_closed(state, event)
    state, commands = take(state, event, now)
    phase = None
    while state.phase not in (phase, Phase.CLOSED):  # an adopted world may have a notice pending
        phase = state.phase
        state, more = advance(state, now)
        commands = commands + more
    return state, commands


def next_deadline(state: State) -> float | None:
    """When a `Tick` would change something, or None."""
    if state.phase is Phase.CLOSED:
        return None
    limits = state.limits
    due = [state.drain_deadline, state.recover_until, state.left_by]
    if state.majority_since is not None:
        due.append(state.majority_since + limits.return_seconds)
    if state.enough_since is not None:
        due.append(state.enough_since + limits.gather_seconds)
    if state.growth_since is not None:
        due.append(state.growth_since + limits.growth_delay_seconds)
    return min((at for at in due if at is not None), default=None)


def _on_closed(state: State, event: Event) -> Step:
    if isinstance(event, Joined):
        return state, [Close(outcome=state.outcome, message=state.message)]
    if isinstance(event, CommitAsked):
        return state, [AnswerCommit(id=event.id, checkpoint=event.checkpoint, accepted=False)]
    return state, []
