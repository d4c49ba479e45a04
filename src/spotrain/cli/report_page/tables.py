"""What stands beside the figures, and says the same in words and numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Final

from spotrain.archive.records import CheckpointRecord
from spotrain.cli.causes import CAUSES
from spotrain.cli.report_page.moments import lasted, moment
from spotrain.cli.report_page.places import REST, UNKNOWN, Colours, place_name
from spotrain.cli.report_page.scale import number
from spotrain.cli.report_page.story import Story
from spotrain.cli.report_page.verdict import is_priced
from spotrain.cli.wording import dollars, percent, size, steps
from spotrain.ledger.cost import Amount, grouped
from spotrain.ledger.entries import WorldEntry
from spotrain.ledger.job_cost import Hours
from spotrain.ledger.prices import Source
from spotrain.ledger.time_split import LostSeconds

SOURCES: Final = {
    Source.HISTORY: "the cloud's own record of that zone, type and time",
    Source.LATEST: "the newest spot price that the platform knows, taken for all times",
    Source.TYPICAL: "what the type costs usually, as the stack was built",
    Source.LIST: "the on-demand list",
    Source.NONE: "nobody has named a price, so it counts as nothing",
}
NEWEST: Final = 10
"""Checkpoints that are shown at once; the others are folded away."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """A row with a bar."""

    word: str
    value: str
    share: float
    """Of the whole, from 0 to 1."""
    meaning: str = ""
    kind: str = "lost"
    """Class of the bar."""

    @property
    def percent(self) -> str:
        return "< 0.1%" if 0 < self.share < 0.0005 else percent(self.share)


@dataclass(frozen=True, kw_only=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()
    """Columns that stand to the right."""
    colours: tuple[str, ...] = field(default=())
    """Of each row; empty: none has one."""
    total: tuple[str, ...] = ()


def time_shares(story: Story) -> list[Share]:
    """Useful time first, then what was lost, the most first; without what took no time."""
    split = story.cost.split
    whole = split.wanted_seconds
    if whole <= 0:
        return []
    useful = Share(
        word="of use",
        value=lasted(split.useful_seconds),
        share=split.useful_seconds / whole,
        meaning="steps that a later world, or the result, built on",
        kind="useful",
    )
    causes = {f.name: getattr(split.lost_seconds, f.name) for f in fields(LostSeconds)}
    lost = [
        Share(
            word=CAUSES[cause].word,
            value=lasted(seconds),
            share=seconds / whole,
            meaning=CAUSES[cause].meaning,
        )
        for cause, seconds in sorted(causes.items(), key=lambda pair: -pair[1])
        if seconds > 0
    ]
    return [useful, *lost]


def hour_shares(story: Story) -> tuple[str, list[Share]]:
    """What became of the hours that are paid for; of GPUs, or of nodes without any."""
    gpus = sum(_of(story.cost.gpu_hours).values())
    unit, hours = ("GPU", story.cost.gpu_hours) if gpus else ("node", story.cost.node_hours)
    whole = sum(_of(hours).values())
    meanings = {
        "useful": "steps that ended up in the model",
        "lost": "meeting, loading, standing still, steps done again",
        "boot": "from the node's creation to the job's first worker on it",
        "idle": "from the job's last worker on it to the node's end",
    }
    if whole <= 0:
        return unit, []
    return unit, [
        Share(
            word=word,
            value=f"{spent:,.2f} h" if whole >= 1 else lasted(3600 * spent),
            share=spent / whole,
            meaning=meanings[word],
            kind="useful" if word == "useful" else "lost",
        )
        for word, spent in _of(hours).items()
    ]


def _of(hours: Hours) -> dict[str, float]:
    return {f.name: getattr(hours, f.name) for f in fields(Hours)}


def cost_table(story: Story, colours: Colours) -> Table:
    by_place = grouped(story.cost.lines, lambda line: (line.place, line.source))
    whole = story.cost.amount
    rows, kinds = [], []
    for (place, source), amount in sorted(by_place.items(), key=lambda pair: -pair[1].usd):
        rows.append(
            (
                place.pool,
                place.zone,
                place.capacity,
                place.instance_type or "not recorded",
                *_amounts(amount, whole),
                source.value,
            )
        )
        kinds.append(colours.of(place_name(place)))
    made = Table(
        columns=(
            *("pool", "zone", "capacity", "type"),
            *("node h", "GPU h", "paid", "same hours on demand", "price from"),
        ),
        rows=tuple(rows),
        numeric=frozenset({4, 5, 6, 7}),
        colours=tuple(kinds),
        total=("all", "", "", "", *_amounts(whole, whole), "") if len(rows) > 1 else (),
    )
    unknown = () if is_priced(story) else ("paid", "same hours on demand", "price from")
    return _without(made, {*unknown, *(() if whole.gpu_hours else ("GPU h",))})


def _without(table: Table, columns: set[str]) -> Table:
    kept = [i for i, title in enumerate(table.columns) if title not in columns]

    def cut(cells: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(cells[i] for i in kept) if cells else ()

    return Table(
        columns=cut(table.columns),
        rows=tuple(map(cut, table.rows)),
        numeric=frozenset(at for at, i in enumerate(kept) if i in table.numeric),
        colours=table.colours,
        total=cut(table.total),
    )


def _amounts(amount: Amount, whole: Amount) -> tuple[str, str, str, str]:
    """All of a column have as many digits as their sum."""
    digits = 2 if whole.node_hours >= 1 else 4
    hours = f"{amount.node_hours:,.{digits}f}", f"{amount.gpu_hours:,.{digits}f}"
    if whole.usd >= 1:
        return *hours, f"${amount.usd:,.2f}", f"${amount.list_usd:,.2f}"
    return *hours, dollars(amount.usd), dollars(amount.list_usd)


def price_sources(story: Story) -> dict[str, str]:
    """Each that was used, the best first."""
    used = {line.source for line in story.cost.lines} if is_priced(story) else set()
    return {source.value: SOURCES[source] for source in Source if source in used}


def world_table(story: Story) -> Table:
    return Table(
        columns=(
            *("world", "workers", "from", "lasted", "steps", "committed", "samples/s"),
            *("ended by", "pause", "lost", "where"),
        ),
        rows=tuple(_world_row(world, story.record.life.until) for world in story.worlds),
        numeric=frozenset({0, 1, 3, 4, 5, 6, 8, 9}),
    )


def _world_row(world: WorldEntry, until: datetime) -> tuple[str, ...]:
    rate = world.steps_per_second
    speed = rate * world.samples_per_step if rate else 0.0
    return (
        str(world.number),
        str(world.size),
        moment(world.published_at),
        lasted(((world.ended_at or until) - world.published_at).total_seconds()),
        steps(world) or "none",
        f"{world.committed_step:,}" if world.committed_step else "",
        number(speed) if speed else "",
        world.reason or ("" if world.ended_at else "goes on"),
        lasted(world.pause_seconds) if world.pause_seconds is not None else "",
        f"{world.steps_lost:,}" if world.steps_lost is not None else "",
        "; ".join(f"{m.workers} x {place_name(m.place)}" for m in world.members) or UNKNOWN,
    )


def checkpoint_table(checkpoints: Sequence[CheckpointRecord]) -> Table:
    rows = []
    for each in checkpoints:
        state = {True: "intact", False: "damaged", None: "not verified"}[each.intact]
        rows.append(
            (
                f"{each.step:,}",
                str(each.world),
                str(each.epoch) if each.epoch is not None else "",
                moment(each.created_at) if each.created_at else "",
                size(each.size_bytes) if each.size_bytes is not None else "",
                f"{state}: {each.problem}" if each.problem else state,
                each.id,
            )
        )
    return Table(
        columns=("step", "world", "epoch", "saved", "size", "state", "id"),
        rows=tuple(rows),
        numeric=frozenset({0, 1, 2, 4}),
    )


def legend(story: Story, colours: Colours) -> Sequence[tuple[str, str]]:
    """Name of a place and its class; all that have no colour of their own are one."""
    named = [(name, kind) for name, kind in colours.legend.items() if kind != REST]
    others = len(colours.legend) - len(named)
    return [*named, *([(f"{others} other places", REST)] if others else [])]
