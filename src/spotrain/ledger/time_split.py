"""Where the time went in which a job wanted to run: of use, or lost, and to what.

    ETTR = useful seconds / wanted seconds

Meta's effective training time ratio. Wanted is wall-clock time from the job's creation to its end,
without the pauses in which it was suspended. Each moment of it has one cause, so the causes add up
to 1 - ETTR. `goodput` answers another question, how much of what the live nodes could have done
was kept: it weighs each second by the nodes that were alive, counts no time without nodes, and
counts slow steps as lost. Here a second is a second whatever was alive, waiting for nodes is the
largest loss of many a spot job, and steps count as they came. Which steps were kept, both ask of
`kept_steps`.

A world trains from the end of its first step (until then it starts) to the end of its last one, or
to the decision to end it, should that come later: a step that was cut off is one to be redone. A
script that tells of no steps has no useful time, for nobody can say which it was; its ETTR is not
0 but unknown.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import pairwise
from typing import Final, Literal, Protocol

from spotrain.ledger.entries import BackOffEntry, CamelCase, PauseEntry, StayEntry, WorldEntry
from spotrain.ledger.kept_steps import StepRange, kept_steps

FINISHED: Final = "finished"
STALL: Final = "stall"
"""As `worlds.Reason`: of these two, the last step came before the end was decided."""


@dataclass(frozen=True, kw_only=True)
class LostSeconds(CamelCase):
    """Wanted time by what it was lost to."""

    waiting_for_nodes: float = 0.0
    """Too few workers had a node, and none ran."""
    back_off: float = 0.0
    """Too few workers had a node, as some had failed and their next try was not due yet."""
    image_pull: float = 0.0
    """Enough workers had a node, but their containers had not started."""
    forming: float = 0.0
    """Enough workers ran: they met, loaded and did the world's first step."""
    redone: float = 0.0
    """Steps on which no later world built."""
    save_stall: float = 0.0
    """Training stood still for a checkpoint."""
    data_wait: float = 0.0
    """Training waited for its data."""
    below_min: float = 0.0
    """Some workers ran, but fewer than the job needs, and too few had a node."""
    idle: float = 0.0
    """A world hung, or training was done and the job had not ended yet."""

    @property
    def total(self) -> float:
        return float(sum(getattr(self, field.name) for field in fields(self)))

    def __add__(self, other: "LostSeconds") -> "LostSeconds":
        return LostSeconds(
            **{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        )


NOTHING_LOST: Final = LostSeconds()


@dataclass(frozen=True, kw_only=True)
class Split(CamelCase):
    """What became of wanted time."""

    useful_seconds: float = 0.0
    lost_seconds: LostSeconds = NOTHING_LOST

    @property
    def wanted_seconds(self) -> float:
        return self.useful_seconds + self.lost_seconds.total

    def __add__(self, other: "Split") -> "Split":
        return Split(
            useful_seconds=self.useful_seconds + other.useful_seconds,
            lost_seconds=self.lost_seconds + other.lost_seconds,
        )


NOTHING: Final = Split()


class Times(Protocol):
    """`Split`, or the totals of a status."""

    @property
    def useful_seconds(self) -> float: ...

    @property
    def wanted_seconds(self) -> float: ...


def ettr(split: Times, worlds: Sequence[WorldEntry]) -> float | None:
    """`worlds`: those of the time that was split, or the newest of them. None: it is not known, as
    no time was wanted yet, or as nobody has told of a step: it may not have begun to train."""
    if split.wanted_seconds <= 0 or (
        split.useful_seconds == 0 and not any(map(is_trained, worlds))
    ):
        return None
    return split.useful_seconds / split.wanted_seconds


@dataclass(frozen=True)
class Span:
    """A time from `since` up to `until`."""

    since: datetime
    until: datetime

    @property
    def seconds(self) -> float:
        return max(0.0, (self.until - self.since).total_seconds())

    def within(self, other: "Span") -> "Span":
        return Span(max(self.since, other.since), min(self.until, other.until))


def split_time(
    worlds: Sequence[WorldEntry],
    stays: Sequence[StayEntry],
    pauses: Sequence[PauseEntry],
    back_offs: Sequence[BackOffEntry],
    *,
    life: Span,
    min_workers: int,
) -> Split:
    """Split the wanted part of `life`, from the job's creation to its end, or to now.

    What the present world has done so far counts as useful, until it turns out otherwise.
    """
    standing = standing_time(worlds, stays, pauses, back_offs, life=life, min_workers=min_workers)
    return sum(training_time(worlds, pauses, life=life), standing)


def training_time(
    worlds: Sequence[WorldEntry], pauses: Sequence[PauseEntry], *, life: Span
) -> list[Split]:
    """What became of each world's time between its first and its last step."""
    trained = _trainings(worlds, life.until)
    kept = kept_steps([_steps(world, is_last=world is trained[-1][0]) for world, _ in trained])
    splits = dict.fromkeys((world.number for world in worlds), NOTHING)
    for (world, span), steps in zip(trained, kept, strict=True):
        own = span.within(life)
        paused = sum(_span(pause, life).within(own).seconds for pause in pauses)
        seconds = max(0.0, own.seconds - paused)
        save = min(world.save_stall_seconds, seconds)
        data = min(world.data_wait_seconds, seconds - save)
        stepping = seconds - save - data
        share = steps / ((world.last_step or 0) - (world.restored_step or 0))
        useful = stepping * share  # in this order: 1 leaves no rounding behind as lost time
        lost = LostSeconds(save_stall=save, data_wait=data, redone=stepping - useful)
        splits[world.number] = Split(useful_seconds=useful, lost_seconds=lost)
    return [splits[world.number] for world in worlds]


def standing_time(
    worlds: Sequence[WorldEntry],
    stays: Sequence[StayEntry],
    pauses: Sequence[PauseEntry],
    back_offs: Sequence[BackOffEntry],
    *,
    life: Span,
    min_workers: int,
) -> Split:
    """What became of the time of `life` in which no world trained: all of it is lost."""
    lost: dict[str, float] = defaultdict(float)
    enough = max(1, min_workers)
    for seconds, now in _moments(_changes(worlds, stays, pauses, back_offs, life), life):
        if now["paused"] or now["training"]:
            continue
        if now["idle"]:
            lost["idle"] += seconds
        elif now["running"] >= enough:
            lost["forming"] += seconds
        elif now["housed"] >= enough:
            lost["image_pull"] += seconds
        elif now["backing_off"]:
            lost["back_off"] += seconds
        elif now["running"]:
            lost["below_min"] += seconds
        else:
            lost["waiting_for_nodes"] += seconds
    return Split(lost_seconds=LostSeconds(**lost))


What = Literal["paused", "training", "idle", "running", "housed", "backing_off"]


def _changes(
    worlds: Sequence[WorldEntry],
    stays: Sequence[StayEntry],
    pauses: Sequence[PauseEntry],
    back_offs: Sequence[BackOffEntry],
    life: Span,
) -> Iterator[tuple[What, Span]]:
    for pause in pauses:
        yield "paused", _span(pause, life)
    for each in back_offs:
        yield "backing_off", Span(each.since, each.until)
    for stay in stays:
        ended_at = stay.ended_at or life.until
        if stay.scheduled_at:
            yield "housed", Span(stay.scheduled_at, ended_at)
            if stay.started_at:
                yield "running", Span(max(stay.scheduled_at, stay.started_at), ended_at)
    stopped = {world.number: world.ended_at for world in worlds}
    for world, span in _trainings(worlds, life.until):
        yield "training", span
        stopped[world.number] = span.until
    for world in worlds:
        at = stopped[world.number]
        if world.reason == FINISHED and at:
            yield "idle", Span(at, life.until)
        elif world.reason == STALL and at and world.ended_at:
            yield "idle", Span(at, world.ended_at)


def _moments(
    changes: Iterator[tuple[What, Span]], life: Span
) -> Iterator[tuple[float, Counter[str]]]:
    """`life`, cut wherever something changes: seconds, and how many of each there are."""
    deltas: dict[datetime, Counter[str]] = {life.since: Counter(), life.until: Counter()}
    for what, span in changes:
        own = span.within(life)
        if own.seconds > 0:
            deltas.setdefault(own.since, Counter())[what] += 1
            deltas.setdefault(own.until, Counter())[what] -= 1
    now: Counter[str] = Counter()
    for start, end in pairwise(sorted(deltas)):
        now.update(deltas[start])
        yield (end - start).total_seconds(), now


def is_trained(world: WorldEntry) -> bool:
    """Has it done a step of its own?"""
    steps = (world.last_step or 0) - (world.restored_step or 0)
    return world.first_step_at is not None and steps > 0


def step_found(worlds: Sequence[WorldEntry]) -> int | None:
    """Of a job that did no step: the one of the checkpoint that it found in its place. None: it did
    steps, or found none."""
    if any(is_trained(world) for world in worlds):
        return None
    return max((world.restored_step or 0 for world in worlds), default=0) or None


def _trainings(worlds: Sequence[WorldEntry], until: datetime) -> Sequence[tuple[WorldEntry, Span]]:
    """The worlds that did steps, each with its time of training, oldest first; no two overlap.

    Not even where one controller took over from another whose clock was ahead of its own: a world
    trains from when it was published at the earliest, and until any later one was at the latest.
    """
    found: list[tuple[WorldEntry, Span]] = []
    latest = until
    for world in sorted(worlds, key=lambda world: world.number, reverse=True):
        if world.first_step_at is not None and is_trained(world):
            begin = max(world.published_at, world.first_step_at)
            found.append((world, Span(begin, min(latest, _trained_until(world, until)))))
        latest = min(latest, world.published_at)
    return found[::-1]


def _trained_until(world: WorldEntry, until: datetime) -> datetime:
    last = world.last_step_at or world.first_step_at or until
    if world.ended_at is None:
        return until
    return last if world.reason in (FINISHED, STALL) else max(last, world.ended_at)


def _steps(world: WorldEntry, *, is_last: bool) -> StepRange:
    """What a later world built on says what was kept of the ones before. Of the last one it is what
    it committed, unless it still trains, or has done all that it was to do."""
    first, last = (world.restored_step or 0) + 1, world.last_step or 0
    if not is_last or world.ended_at is None or world.reason == FINISHED:
        return StepRange(first, last, last)
    return StepRange(first, last, world.committed_step or 0)


def _span(pause: PauseEntry, life: Span) -> Span:
    return Span(pause.since, pause.until or life.until)
