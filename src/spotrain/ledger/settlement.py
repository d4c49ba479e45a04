"""Keeping a record short: what overflows its lists is settled, and then only its sums are kept.

Worlds are settled by what became of their training, stays by what they held of nodes. Time in which
no world trained is settled up to a moment, for it takes all stays of that time to say what it was
lost to; the moment is chosen so that nothing that is still to come can reach before it.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from spotrain.ledger.account import Record, Settled
from spotrain.ledger.closing import Closing, held
from spotrain.ledger.entries import PauseEntry, WorldEntry
from spotrain.ledger.time_split import Span, is_trained, standing_time, training_time
from spotrain.ledger.traffic import traffic_of

NEWEST: Final = 50
"""Entries of a kind that are kept: of all but worlds, those that have ended."""
LATE_SECONDS: Final = 60.0
"""What happened longer ago has been told by now; a node's word of its containers comes last."""


def settle(record: Record, closing: Closing, *, present: frozenset[str]) -> Record:
    """Take from the lists what is too much, the oldest first.

    `present`: uids of pods that are still there. Were their stays forgotten, they would be taken
    for new ones.
    """
    account, worlds = record.account, record.worlds
    over = max(0, len(worlds) - NEWEST)
    ended = sorted((s.ended_at, s.uid) for s in account.stays if s.ended_at is not None)
    surplus = [e for e in ended[: max(0, len(ended) - NEWEST)] if e[1] not in present]
    pauses = account.pauses[: max(0, len(account.pauses) - NEWEST)]
    back_offs = account.back_offs[: max(0, len(account.back_offs) - NEWEST)]
    if not (over or surplus or pauses or back_offs):
        return record
    settled = account.settled or Settled(until=account.since)
    # The coordinator's clock, read anew at each look, may put a world's beginning after now.
    until = max(settled.until, min(_safe_until(worlds, over, closing), closing.time))
    standing = standing_time(
        worlds,
        account.stays,
        account.pauses,
        account.back_offs,
        life=Span(settled.until, until),
        min_workers=closing.min_workers,
    )
    training = training_time(worlds, account.pauses, life=Span(account.since, closing.time))
    # While a world trains, it does not matter who else comes and goes.
    gone = {uid for at, uid in surplus if at <= until or _is_training(worlds)}
    over_pauses = {p for p in pauses if _is_over(p, until, worlds[over:])}
    over_back_offs = {each for each in back_offs if each.until <= until}
    forgotten = [stay for stay in account.stays if stay.uid in gone]
    ends = [stay.ended_at for stay in forgotten if stay.ended_at is not None]
    places_until = max([settled.places_until or account.since, *ends])
    return Record(
        account=replace(
            account,
            stays=tuple(stay for stay in account.stays if stay.uid not in gone),
            pauses=tuple(pause for pause in account.pauses if pause not in over_pauses),
            back_offs=tuple(each for each in account.back_offs if each not in over_back_offs),
            settled=Settled(
                until=until,
                split=sum(training[:over], settled.split + standing),
                places=tuple(held(settled, account.stays, places_until).values()),
                places_until=places_until,
                traffic=settled.traffic + traffic_of(forgotten),
            ),
        ),
        worlds=worlds[over:],
    )


def _safe_until(worlds: Sequence[WorldEntry], over: int, closing: Closing) -> datetime:
    """Everything of the time before is known, and all of its training has ended."""
    if _is_training(worlds):
        return worlds[-1].first_step_at or worlds[-1].published_at
    told = closing.time - timedelta(seconds=LATE_SECONDS)
    return max(told, worlds[over].published_at) if over else told


def _is_training(worlds: Sequence[WorldEntry]) -> bool:
    return bool(worlds) and worlds[-1].ended_at is None and is_trained(worlds[-1])


def _is_over(pause: PauseEntry, until: datetime, worlds: Sequence[WorldEntry]) -> bool:
    """Does nothing that is still listed reach into it?"""
    return (
        pause.until is not None
        and pause.until <= until
        and not any(w.published_at < pause.until and _reaches(w, pause.since) for w in worlds)
    )


def _reaches(world: WorldEntry, moment: datetime) -> bool:
    return any(at is None or at > moment for at in (world.ended_at, world.last_step_at))
