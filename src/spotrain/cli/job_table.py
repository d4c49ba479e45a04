"""Jobs as a table for people: a line a job, and the columns for which there is room. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from spotrain.cli import wording
from spotrain.cli.job_rows import JobRow

if TYPE_CHECKING:
    from rich.console import RenderableType

GAP: Final = 2
"""Columns of the terminal between two of the table."""
NAME: Final = 24
"""So much of a job's name stands in one line, if need be at the cost of what follows."""
LEFT_OUT: Final = ("steps/s", "gpu", "age", "cost", "step")
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
    Column(title="cost", cell=lambda row, _: wording.dollars(row.usd)),
    Column(
        title="age",
        cell=lambda row, now: wording.span((now - row.created_at).total_seconds()),
    ),
)


def in_order(rows: Sequence[JobRow]) -> Sequence[JobRow]:
    """The newest last, where the eye is."""
    return sorted(rows, key=lambda row: (row.created_at, row.name))


def tabulate(rows: Sequence[JobRow], now: datetime, *, width: int | None) -> "RenderableType":
    """`width` of the terminal; None: nothing is left out or folded, however wide it gets."""
    from rich import box
    from rich.table import Table

    texts = {column.title: [column.cell(row, now) for row in rows] for column in COLUMNS}
    widths = {title: max(map(len, (title, *column))) for title, column in texts.items()}
    shown = [column for column in COLUMNS if column.title in fitting(widths, width)]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0))
    for column in shown:
        is_name = column.title == "job"
        table.add_column(
            column.title,
            justify="right" if column.is_number else "left",
            overflow="fold",
            no_wrap=not is_name,
            min_width=widths["job"] if is_name and width is None else None,
        )
    for line in zip(*(texts[column.title] for column in shown), strict=True):
        table.add_row(*line)
    return table


def fitting(widths: Mapping[str, int], width: int | None) -> Sequence[str]:
    """The titles of those columns for which there is room; each needs its own `widths`."""
    needed = {**widths, "job": min(widths["job"], NAME)}
    shown = [column.title for column in COLUMNS]
    for title in LEFT_OUT:
        if width is None or sum(needed[each] + GAP for each in shown) - GAP <= width:
            break
        shown.remove(title)
    return shown


def told(row: JobRow) -> str:
    """digits: Running, 3/4 workers, step 1,234."""
    step = "" if row.step is None else f", step {row.step:,}"
    return f"{row.name}: {row.state}, {row.ready}/{row.wanted} workers{step}"
