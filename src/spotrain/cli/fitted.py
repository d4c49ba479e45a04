"""What people read, fitted to their terminal: where it is narrow, whole columns of a table go, and
lines break between facts: a number is parted from its unit only where both find no room."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.text import Text

GAP: Final = 2
"""Columns of the terminal between two of a table."""
EDGES: Final = 2
LEAST_WORDS: Final = 16
"""Columns of the terminal that a column of words keeps, if need be at the cost of others."""
GLUE: Final = "\N{NO-BREAK SPACE}"
_BEFORE_UNIT: Final = re.compile(
    r"(?<=\d) (?=(?:s|min|h|d|k?B|[MGT]B|steps?|workers?|(?:steps|samples)/s|ago|x)\b)"
)
_BEFORE_NUMBER: Final = re.compile(r"\b(step|world|number|x|of|to) (?=[\d$])")


def glued(text: str) -> str:
    """The text with spaces that no line may break at between a number and what it counts."""
    return _BEFORE_NUMBER.sub(rf"\1{GLUE}", _BEFORE_UNIT.sub(GLUE, text))


def lines_of(text: str, width: int) -> list[str]:
    """At least one, none of them wider."""
    found = wrap(glued(text), max(1, width), break_on_hyphens=False)
    return [line.replace(GLUE, " ") for line in found] or [""]


@dataclass(frozen=True)
class Paragraphs:
    """Lines of text; those that are too wide go on below."""

    text: str

    def __rich_console__(
        self, console: "Console", options: "ConsoleOptions"
    ) -> "Iterable[RenderableType]":
        from rich.text import Text

        for paragraph in self.text.splitlines():
            yield from map(Text, lines_of(paragraph, options.max_width))


@dataclass(frozen=True)
class FactTable:
    """Words, and what is said to each."""

    facts: Sequence[tuple[str, str]]

    def __rich_console__(
        self, console: "Console", options: "ConsoleOptions"
    ) -> "Iterable[RenderableType]":
        from rich.text import Text

        indent = max((len(word) for word, _ in self.facts), default=0) + GAP
        for word, said in self.facts:
            first, *others = lines_of(said, options.max_width - indent)
            yield Text.assemble((word.ljust(indent), "bold"), first)
            for line in others:
                yield Text(" " * indent + line)


@dataclass(frozen=True, kw_only=True)
class Column:
    title: str
    is_number: bool = False
    """It stands to the right, and is never folded."""
    has_words: bool = False
    """It goes on below where there is too little room."""


@dataclass(frozen=True, kw_only=True)
class FittedTable:
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    left_out: Sequence[str] = ()
    """Titles of the columns that go where there is too little room, in this order; empty ones go
    before all others."""
    title: str = ""

    def __rich_console__(
        self, console: "Console", options: "ConsoleOptions"
    ) -> "Iterable[RenderableType]":
        from rich import box
        from rich.table import Table

        shown = self.fitting(options.max_width)
        table = Table(
            title=self.title or None,
            title_justify="left",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            padding=(0, 1, 0, 0),
        )
        for index in shown:
            column = self.columns[index]
            table.add_column(
                column.title,
                justify="right" if column.is_number else "left",
                no_wrap=not column.has_words,
                overflow="fold",
            )
        for row in self.rows:
            table.add_row(*(_text(row[index]) for index in shown))
        yield table

    def fitting(self, width: int) -> Sequence[int]:
        """The columns for which there is room, in their order."""
        shown = list(range(len(self.columns)))
        for index in self._order():
            if sum(map(self._least, shown)) + GAP * (len(shown) - 1) + EDGES <= width:
                break
            shown.remove(index)
        return shown

    def _order(self) -> Sequence[int]:
        titles = [column.title for column in self.columns]
        going = [titles.index(title) for title in self.left_out]
        return sorted(going, key=lambda index: index not in self._empty())

    def _empty(self) -> Collection[int]:
        return {i for i in range(len(self.columns)) if not any(row[i] for row in self.rows)}

    def _least(self, index: int) -> int:
        column = self.columns[index]
        widest = max(len(text) for text in (column.title, *(row[index] for row in self.rows)))
        return min(widest, LEAST_WORDS) if column.has_words else widest


def _text(cell: str) -> "Text":
    """What a job is named is no markup."""
    from rich.text import Text

    return Text(cell)
