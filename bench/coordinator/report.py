"""From the raw data to the table in docs/performance.md. Pure."""

from statistics import median
from typing import Any

from bench import page
from bench.figure import GREEN, Dots, Series


def block(found: dict[str, Any]) -> str:
    rounds = found["rounds"]
    agents = found["jobs"] * found["agents_per_job"]
    rows = [
        ("all connect at once, until the last has its world", f"{_of(rounds, 'form_s'):.1f} s"),
        ("processor time of that", f"{_of(rounds, 'form_cpu_s'):.1f} s"),
        ("each job loses an agent at once, until all have a new world", _loss(rounds)),
        ("processor while all train", f"{100 * _of(rounds, 'train_cpu'):.0f} % of a core"),
        ("memory, with the interpreter", f"{_of(rounds, 'mib'):.0f} MiB"),
        ("memory of one agent", f"{1024 * _of(rounds, 'agents_mib') / agents:.0f} KiB"),
    ]
    head = f"{agents} agents in {found['jobs']} jobs, median of {len(rounds)}"
    return f"{page.ran_on(found)}.\n\n{page.table((head, 'measured'), rows)}"


def figure(found: dict[str, Any]) -> Dots:
    rows = {
        "all connect at once": [row["form_s"] for row in found["rounds"]],
        "processor time of that": [row["form_cpu_s"] for row in found["rounds"]],
        "each job loses an agent": [row["loss_s"] for row in found["rounds"]],
    }
    return Dots(
        title="Every round: until all jobs have their worlds",
        unit="seconds",
        series=[Series(label="coordinator", color=GREEN, rows=rows)],
        limits=(0, 1.1 * max(max(values) for values in rows.values())),
    )


def _loss(rounds: list[dict[str, float]]) -> str:
    return f"{_of(rounds, 'loss_s'):.2f} s"


def _of(rounds: list[dict[str, float]], key: str) -> float:
    return median(row[key] for row in rounds)
