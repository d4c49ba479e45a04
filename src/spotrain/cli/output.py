"""stdout is the answer, for a person or a program; stderr is the talk."""

import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from spotrain.cli.options import Format

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

WIDTH: Final = 80
"""Columns of a table where the output is no terminal; every table fits them."""
REFRESHES_PER_SECOND: Final = 2.0
"""Of a display in place: moments are told relative to now, so they change without news."""
CUT_OFF: Final = "…"
"""At the end of what a column has no room for."""


def answer(
    value: Any,
    form: Format,
    *,
    names: Sequence[str],
    table: "Callable[[], RenderableType]",
) -> None:
    """Write `value` as JSON or YAML, the names one a line, or the table for people."""
    if form in (Format.json, Format.yaml):
        write(value, form)
    elif form is Format.name:
        for name in names:
            print(name)
    else:
        show(table())


def write(value: Any, form: Format) -> None:
    """For programs: as JSON or YAML."""
    if form is Format.json:
        print(json.dumps(value, indent=2))
    else:
        import yaml

        print(yaml.safe_dump(value, sort_keys=False), end="")


def show(renderable: "RenderableType") -> None:
    """For people: colours on a terminal, the same text without them elsewhere."""
    from rich.console import Console

    if sys.stdout.isatty():
        console = Console()
        # Rather lines that the terminal wraps than numbers that are cut off.
        if console.width < WIDTH and CUT_OFF in drawn(renderable, console):
            console = Console(width=WIDTH)
        console.print(renderable)
        return
    text = drawn(renderable, Console(width=WIDTH))
    print(text.strip("\n"))  # a table begins and ends with a line of blanks


def drawn(renderable: "RenderableType", console: "Console") -> str:
    with console.capture() as captured:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def say(text: str) -> None:
    """A remark that is no part of the answer."""
    print(text, file=sys.stderr, flush=True)
