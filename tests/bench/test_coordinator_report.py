"""The page's table of the coordinator, from raw data."""

from bench.coordinator.report import block


def test_rounds_are_told_by_their_median() -> None:
    row = {"form_s": 2.0, "form_cpu_s": 1.0, "train_cpu": 0.1, "mib": 90.0, "agents_mib": 10.0}
    rounds = [{**row, "loss_s": seconds} for seconds in (0.1, 9.0, 0.5)]
    machine = {"cpu": "X", "cores": 2, "python": "3.11", "load_before": [1.0]}
    found = {"at": "2026-11-22T00:00:00", "machine": machine, "load_after": [2.0]}
    text = block({**found, "jobs": 10, "agents_per_job": 10, "rounds": rounds})
    assert "until all have a new world | 0.50 s |" in text
    assert "memory of one agent | 102 KiB |" in text
