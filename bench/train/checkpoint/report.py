"""What docs/performance.md shows of checkpoints. Pure."""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any, Final

from bench.figure import GREEN, GREY, ORANGE, Dots, Series
from bench.page import met, ran_on, table

OURS: Final = "ours"
PEER: Final = "dcp.async_save"
COLORS: Final = {OURS: GREEN, PEER: ORANGE, "torch.save": GREY}
GOAL: Final = 1.1
"""Most that training may stand still for ours, as a share of the peer's."""


def block(found: dict[str, Any]) -> str:
    stalls, kills = found["stall_seconds"], found["kills"]
    rounds = len(next(iter(stalls.values()))[OURS])
    head = ("state", *(f"{name} (ms)" for name in COLORS), f"{OURS} / {PEER}", "goal", "")
    killed = (
        f"Of {kills['kills']} processes killed while they saved, {kills['fell_into_saves']} in the "
        f"midst of a save, {'one or more' if kills['unreadable'] else 'none'} left a checkpoint "
        f"that could not be read (goal: none, {met(not kills['unreadable'])})."
    )
    intro = f"{ran_on(found)}, torch {found['machine']['torch']}; median of {rounds}."
    return "\n".join([intro, "", table(head, _rows(stalls)), "", killed])


def _rows(stalls: dict[str, dict[str, list[float]]]) -> Iterator[Sequence[str]]:
    for megabytes, of_size in stalls.items():
        middle = {name: 1000 * median(of_size[name]) for name in COLORS}
        ratio = middle[OURS] / middle[PEER]
        shown = (f"{value:.0f}" for value in middle.values())
        yield f"{megabytes} MB", *shown, f"{ratio:.2f}", f"<= {GOAL:g}", met(ratio <= GOAL)


def figure(found: dict[str, Any]) -> Dots:
    stalls = found["stall_seconds"]
    series = [
        Series(
            label=name,
            color=color,
            rows={f"{size} MB": [1000 * each for each in stalls[size][name]] for size in stalls},
        )
        for name, color in COLORS.items()
    ]
    return Dots(
        title="Every checkpoint: how long training stands still",
        unit="milliseconds",
        series=series,
        ticks=(10, 30, 100, 300, 1000),
    )
