"""Jobs as a table for people: a line a job, and the columns for which there is room. Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from spotrain.cli import wording
from spotrain.cli.job_rows import JobRow

GAP: Final = 2
"""Columns of the terminal between two of the table."""
NAME: Final = 24
"""So much of a job's name stands in one line, if need be at the cost of other columns."""
LEFT_OUT: Final = ("steps/s", "gpu", "age", "left", "cost", "step")
"""Where there is too little room, in this order."""


@dataclass(frozen=True, kw_only=True)
class Column:
    title: str
    cell: Callable[[JobRow, datetime], str]
    is_number: bool = True


COLUMNS: Final = (
    Column(title="job", cell=lambda row, _: row.name, is_number=False),
    Column(title="state", cell=lambda row, _: row.state, is_number=False),
    Column(title="workers", cell=lambda row, _: f"{row.ready}/{row.wanted}"),
    Column(title="gpu", cell=lambda row, _: row.gpu, is_number=False),
    Column(title="step", cell=lambda row, _: "" if row.step is None else f"{row.step:,}"),
    Column(title="steps/s", cell=lambda row, _: wording.rate(row.steps_per_second)),
    Column(
        title="left",
        cell=lambda row, _: "" if row.seconds_left is None else wording.span(row.seconds_left),
    ),
    Column(title="cost", cell=lambda row, _: wording.dollars(row.usd)),
    Column(
        title="age",
        cell=lambda row, now: wording.span((now - row.created_at).total_seconds()),
    ),
)


def in_order(rows: Sequence[JobRow]) -> Sequence[JobRow]:
    """The newest last, where the eye is."""
    return sorted(rows, key=lambda row: (row.created_at, row.name))


def tabulate(rows: Sequence[JobRow], now: datetime, *, width: int | None) -> list[str]:
    """Its lines, of which the first two are the head. `width` of the terminal; None: nothing is
    left out or folded, however wide it gets.

    By hand, because rich lays each cell out: for five hundred jobs that takes half a second.
    """
    texts = {column.title: [column.cell(row, now) for row in rows] for column in COLUMNS}
    widths = {title: max(map(len, (title, *column))) for title, column in texts.items()}
    titles = fitting(widths, width, empty={title for title in texts if not any(texts[title])})
    shown = [column for column in COLUMNS if column.title in titles]
    if width is not None:
        rest = sum(widths[column.title] + GAP for column in shown[1:])
        widths["job"] = min(widths["job"], max(width - rest, len("job")))

    def line(cells: Iterable[str]) -> str:
        """A cell wider than its column, which only a name is, goes on below."""
        first, *others = cells
        room = widths["job"]
        pieces = [first[at : at + room] for at in range(0, len(first), room)]
        padded = [
            text.rjust(widths[column.title])
            if column.is_number
            else text.ljust(widths[column.title])
            for column, text in zip(shown, (pieces[0], *others), strict=True)
        ]
        return "\n".join(((" " * GAP).join(padded).rstrip(), *pieces[1:]))

    head = line(titles)
    rule = "─" * (sum(widths[title] + GAP for title in titles) - GAP)
    body = [line(cells) for cells in zip(*(texts[title] for title in titles), strict=True)]
    return [head, rule, *body]


def fitting(
    widths: Mapping[str, int], width: int | None, *, empty: Collection[str] = ()
) -> Sequence[str]:
    """The titles of those columns for which there is room, in their order. `empty` ones, in which
    no job has anything, are the first to go: before a name is folded."""
    shown = [column.title for column in COLUMNS]
    for title in sorted(LEFT_OUT, key=lambda title: title not in empty):
        name = widths["job"] if title in empty else min(widths["job"], NAME)
        rest = sum(widths[each] + GAP for each in shown if each != "job")
        if width is None or name + rest <= width:
            break
        shown.remove(title)
    return shown


def told(row: JobRow) -> str:
    """digits: Running, 3/4 workers, step 1,234."""
    step = "" if row.step is None else f", step {row.step:,}"
    return f"{row.name}: {row.state}, {row.ready}/{wording.count(row.wanted, 'worker')}{step}"
