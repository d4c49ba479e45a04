"""The figure of a job's worlds: how many workers trained when and where, and what ended it.

x is in percent of the figure's width, so that it fits any screen; y is in pixels from the top.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from spotrain.cli.report_page.moments import lasted, moment
from spotrain.cli.report_page.places import REST, UNKNOWN, Colours, place_name
from spotrain.cli.report_page.reasons import OTHER, REASONS, explain, word_of
from spotrain.cli.report_page.scale import Tick, TimeAxis, number, number_ticks, whole_life
from spotrain.cli.report_page.story import Story
from spotrain.cli.wording import count, steps
from spotrain.ledger.entries import WorldEntry

HEIGHT: Final = 200
"""Of the part that shows sizes."""
LANE: Final = 22
TOP: Final = 10
LEAST_WIDTH: Final = 0.08
"""Percent: what is shorter is drawn as wide, so that it can be seen."""
CHECKPOINT: Final = "checkpoint"


@dataclass(frozen=True, kw_only=True)
class Bar:
    x: float
    width: float
    y: float
    height: float
    kind: str
    """Its class."""
    title: str
    starting: bool = False
    """Until its first step."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    x: float
    title: str


@dataclass(frozen=True, kw_only=True)
class Lane:
    """All that ended for one reason."""

    word: str
    shape: str
    sentence: str
    y: float
    marks: tuple[Mark, ...]


@dataclass(frozen=True, kw_only=True)
class Timeline:
    bars: tuple[Bar, ...]
    bands: tuple[Bar, ...]
    """Times in which the job was suspended, or of which nothing is known."""
    lanes: tuple[Lane, ...]
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    floor: float
    """y of zero workers."""
    height: float


def draw_timeline(story: Story, colours: Colours) -> Timeline:
    axis = TimeAxis(whole_life(story.record.life))
    sizes = number_ticks(0, max((w.size for w in story.worlds), default=1), whole=True)
    per_worker = HEIGHT / sizes[-1]
    floor = TOP + HEIGHT

    def column(world: WorldEntry) -> Iterator[Bar]:
        """Its workers by place, upon each other."""
        below = 0
        for name, workers in _members(world):
            for start, end, starting in _parts(world, story.record.life.until):
                yield Bar(
                    x=axis(start),
                    width=max(LEAST_WIDTH, axis(end) - axis(start)),
                    y=floor - (below + workers) * per_worker,
                    height=workers * per_worker,
                    kind=colours.of(name) if name != UNKNOWN else REST,
                    title=f"{_told(world)} {count(workers, 'worker')} at {name}.",
                    starting=starting,
                )
            below += workers

    lanes = tuple(_lanes(story, axis, floor + LANE))
    return Timeline(
        bars=tuple(bar for world in story.worlds for bar in column(world)),
        bands=tuple(_bands(story, axis)),
        lanes=lanes,
        x_ticks=axis.ticks(),
        y_ticks=[Tick(at=floor - size * per_worker, label=number(size)) for size in sizes],
        floor=floor,
        height=floor + LANE * (len(lanes) + 0.5),
    )


def _members(world: WorldEntry) -> Iterator[tuple[str, int]]:
    known = 0
    for members in world.members:
        yield place_name(members.place), members.workers
        known += members.workers
    if known < world.size:
        yield UNKNOWN, world.size - known


def _parts(world: WorldEntry, until: datetime) -> Iterator[tuple[datetime, datetime, bool]]:
    end = world.ended_at or until
    first = min(world.first_step_at or end, end)
    if first > world.published_at:
        yield world.published_at, first, True
    if end > first or first == world.published_at:
        yield first, end, False


def _told(world: WorldEntry) -> str:
    done = steps(world).replace(" - ", " to ")
    since = f"from {moment(world.published_at)}"
    if world.ended_at is None:
        return f"World {world.number}, {since} on: {f'steps {done}' if done else 'no step yet'}."
    spent = lasted((world.ended_at - world.published_at).total_seconds())
    return f"World {world.number}, {since}, {spent}: {f'steps {done}' if done else 'no step'}."


def _bands(story: Story, axis: TimeAxis) -> Iterator[Bar]:
    def band(since: datetime, until: datetime, kind: str, title: str) -> Bar:
        width = max(LEAST_WIDTH, axis(until) - axis(since))
        return Bar(x=axis(since), width=width, y=TOP, height=HEIGHT, kind=kind, title=title)

    for pause in story.record.pauses:
        until = pause.until or story.record.life.until
        spent = lasted((until - pause.since).total_seconds())
        title = f"Suspended from {moment(pause.since)}, for {spent}."
        yield band(pause.since, until, "suspended", title)
    for gap in story.gaps:
        title = f"Not recorded, {moment(gap.since)} to {moment(gap.until)}: {gap.message}"
        yield band(gap.since, gap.until, "unrecorded", title)


def _lanes(story: Story, axis: TimeAxis, top: float) -> Iterator[Lane]:
    marks: dict[str, list[Mark]] = defaultdict(list)
    for world in story.worlds:
        if world.ended_at is not None:
            mark = Mark(x=axis(world.ended_at), title=_end(world))
            marks[word_of(world.reason)].append(mark)
    present = [word for word in (*REASONS, OTHER) if word in marks]
    for index, word in enumerate(present):
        told = explain(word)
        yield Lane(
            word=word,
            shape=told.shape,
            sentence=told.sentence,
            y=top + LANE * index,
            marks=tuple(marks[word]),
        )
    saved = [
        Mark(x=axis(each.created_at), title=f"Checkpoint of step {each.step:,}.")
        for each in story.checkpoints
        if each.created_at is not None
    ]
    if saved:
        yield Lane(
            word=CHECKPOINT,
            shape="dot",
            sentence="saved then, and still there.",
            y=top + LANE * len(present),
            marks=tuple(saved),
        )


def _end(world: WorldEntry) -> str:
    assert world.ended_at
    parts = [f"World {world.number} ended at {moment(world.ended_at)}: {world.reason}."]
    if world.message:
        parts.append(f"{world.message.rstrip('.')}.")
    if world.pause_seconds is not None:
        parts.append(f"The next world's first step came {lasted(world.pause_seconds)} later.")
    if world.steps_lost:
        parts.append(f"{count(world.steps_lost, 'step')} had to be done again.")
    return " ".join(parts)
