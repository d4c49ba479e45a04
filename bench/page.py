"""A benchmark's block in docs/performance.md, kept between two markers."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
RESULTS: Final = ROOT / "bench/results"
PAGE: Final = ROOT / "docs/performance.md"
FIGURES: Final = ROOT / "docs/figures"
NOT_MEASURED: Final = "Not measured yet on a quiet machine."


def put(page: str, name: str, text: str) -> str:
    """The page with `text` between the markers of `name`.

    Raises:
        ValueError: the page has no such markers.
    """
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if begin not in page or end not in page:
        raise ValueError(f"docs/performance.md needs {begin} and {end}: that is where it goes")
    head, rest = page.split(begin)
    return f"{head}{begin}\n{text}\n{end}{rest.split(end)[1]}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def met(is_met: bool) -> str:
    return "met" if is_met else "missed"


def ran_on(found: dict[str, Any]) -> str:
    """When, and on what machine, a benchmark ran."""
    m = found["machine"]
    load = f"{m['load_before'][0]:.0f} to {found['load_after'][0]:.0f}"
    return f"{found['at'][:10]}, {m['cores']} cores ({m['cpu']}), Python {m['python']}, load {load}"
