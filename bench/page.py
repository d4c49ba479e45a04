"""A benchmark's block in docs/performance.md: made from its raw data, kept between two markers."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
RESULTS: Final = ROOT / "bench/results"
PAGE: Final = ROOT / "docs/performance.md"
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


def block(name: str, render: Callable[[dict[str, Any]], str]) -> str:
    """What belongs between the markers of `name`: `render` makes it of the raw data."""
    path = RESULTS / f"{name}.json"
    return render(json.loads(path.read_text())) if path.exists() else NOT_MEASURED


def keep(name: str, found: dict[str, Any], text: str) -> None:
    """Write bench/results/<name>.json and the page's block of that name."""
    RESULTS.mkdir(exist_ok=True)
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items()]
    (RESULTS / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    PAGE.write_text(put(PAGE.read_text(), name, text))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def ran_on(found: dict[str, Any]) -> str:
    """When, and on what machine, a benchmark ran."""
    m = found["machine"]
    load = f"{m['load_before'][0]:.0f} to {found['load_after'][0]:.0f}"
    return f"{found['at'][:10]}, {m['cores']} cores ({m['cpu']}), Python {m['python']}, load {load}"
