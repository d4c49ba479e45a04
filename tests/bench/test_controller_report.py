"""The table says truly which goals are met."""

from typing import Any

import pytest

from bench.controller.report import table


def found(
    replacement: float = 15.0,
    jobs_per_s: float = 40.0,
    mib: float = 90.0,
    written_at: tuple[float, ...] = (0.1, 15.2, 30.3),
) -> dict[str, Any]:
    bare = {"jobs": 500, "jobs_per_s": 45.0}
    ours = {"jobs": 500, "jobs_per_s": jobs_per_s, "peak_mib": mib}
    row = {"jobs": 500, "controller": ours, "lightkube": bare, "httpx2": bare, "aiohttp": bare}
    machine = {"cpu": "X", "cores": 2, "python": "3.11", "load_before": [1.0]}
    return {
        "at": "2026-08-11T10:00:00",
        "machine": machine,
        "load_after": [2.0],
        "latency_ms": [{"watcher": 10.0, "replacement": replacement}] * 3,
        "writes": {"patch elasticjobs/status": 9, "create pods": 5},
        "progress": {"seconds": 60.0, "reports": 120, "written_at": written_at},
        "throughput": {"workers": 4, "concurrency": 32, "rounds": [row]},
    }


def test_a_goal_that_is_met_is_told_so() -> None:
    text = table(found())
    assert "| 1.50 | <= 2 | met |" in text
    assert "| 0.89 | >= 0.8 | met |" in text
    assert "missed" not in text


@pytest.mark.parametrize(
    "changes",
    [
        {"replacement": 21.0},
        {"jobs_per_s": 30.0},
        {"mib": 201.0},
        {"written_at": tuple(range(0, 60, 10))},
        {"written_at": ()},
    ],
)
def test_a_goal_that_is_missed_is_told_so(changes: dict[str, Any]) -> None:
    assert table(found(**changes)).count("missed") == 1
