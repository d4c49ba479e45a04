"""The goodput of a job whose ledger was kept: a worker that has a node counts as one.

What its nodes did before their first and after their last pod is not in it; the dollars have that.
"""

from collections.abc import Sequence
from datetime import datetime

from spotrain.ledger.entries import StayEntry, WorldEntry
from spotrain.ledger.goodput import Goodput, WorldRecord, goodput
from spotrain.ledger.time_split import FINISHED


def goodput_of(
    worlds: Sequence[WorldEntry], stays: Sequence[StayEntry], *, until: datetime
) -> Goodput | None:
    """Judge a job up to `until`: its end, or now. None where too little is known of it."""
    lives = [
        (stay.scheduled_at.timestamp(), min(stay.ended_at or until, until).timestamp())
        for stay in stays
        if stay.scheduled_at is not None and stay.scheduled_at < min(stay.ended_at or until, until)
    ]
    try:
        return goodput([_record(world, until) for world in worlds], lives)
    except ValueError:  # no world did two steps, or nobody had a node
        return None


def _record(world: WorldEntry, until: datetime) -> WorldRecord:
    did_steps = world.last_step is not None and world.last_step > (world.restored_step or 0)
    still_counts = world.ended_at is None or world.reason == FINISHED
    committed = world.last_step if still_counts else world.committed_step
    return WorldRecord(
        number=world.number,
        size=world.size,
        reason="finished" if world.reason == FINISHED else "loss",  # goodput asks for none of them
        published_at=world.published_at.timestamp(),
        first_step_at=world.first_step_at.timestamp() if world.first_step_at else None,
        last_step_at=world.last_step_at.timestamp() if world.last_step_at else None,
        first_step=(world.restored_step or 0) + 1 if did_steps else None,
        last_step=world.last_step if did_steps else None,
        ended_at=(world.ended_at or until).timestamp(),
        committed_step=committed or 0,
        samples_per_step=world.samples_per_step or 1,
    )
