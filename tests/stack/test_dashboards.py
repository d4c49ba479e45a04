"""Dashboards: valid, about metrics that exist, and findable by Grafana."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.manifest import read_manifest
from components.platform.metrics_stack import dashboard_files
from components.platform.metrics_values import NODE_LABELS
from spotrain.controller.metrics import JOB_METRICS
from tests.stack.queries import EXPORTERS, OURS, metrics_of, our_metrics

FILES = dashboard_files()
VARIABLES = {"$__rate_interval": "5m", "$__range": "1h", "$namespace": "x", "$job": "x"}


def dashboard(file: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(file.read_text())
    return document


def queries(file: Path) -> Iterator[str]:
    """Every expression, with a value for each variable, as Grafana would send it."""
    for panel in dashboard(file)["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"]
            for variable, value in VARIABLES.items():
                query = query.replace(variable, value)
            yield query


def exporter_of_gpus() -> set[str]:
    """The metrics that k8s/gpu-metrics.yaml asks NVIDIA's exporter for."""
    (settings,) = (d for d in read_manifest("gpu-metrics.yaml") if d["kind"] == "ConfigMap")
    lines = settings["data"]["counters.csv"].splitlines()
    return {line.split(",")[0] for line in lines if not line.startswith("#")}


def test_there_are_dashboards_of_jobs_and_of_nodes() -> None:
    assert [file.stem for file in FILES] == ["jobs", "nodes"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_query_reads_metrics_that_somebody_provides(file: Path) -> None:
    provided = our_metrics() | exporter_of_gpus() | set().union(*EXPORTERS.values())
    read = set().union(*map(metrics_of, queries(file)))
    assert len(read) > 12
    assert read - provided == set()


def test_the_list_of_exporters_has_no_metric_that_nobody_reads() -> None:
    read = {name for file in FILES for query in queries(file) for name in metrics_of(query)}
    listed = set().union(*(EXPORTERS[name] for name in EXPORTERS if name != "Prometheus itself"))
    assert listed <= read


def test_a_metric_that_was_renamed_would_be_noticed() -> None:
    assert metrics_of("rate(spotrain_job_stepps[5m]) > 0") - our_metrics()


def test_no_metric_of_jobs_waits_for_somebody_to_write_what_it_reads() -> None:
    assert {metric.name for metric in JOB_METRICS} - our_metrics() == set()


def test_every_metric_of_jobs_is_shown() -> None:
    read = {name for file in FILES for query in queries(file) for name in metrics_of(query)}
    unseen = {name for name in our_metrics() if name.startswith(f"{OURS}job_")} - read
    # These are there for the alerts.
    assert unseen == {
        "spotrain_job_completion_timestamp_seconds",
        "spotrain_job_last_stall_timestamp_seconds",
        "spotrain_job_start_timestamp_seconds",
        "spotrain_job_workers_min",
        "spotrain_job_world_number",
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_variable_is_left_that_is_not_declared(file: Path) -> None:
    declared = {f"${v['name']}" for v in dashboard(file)["templating"]["list"]}
    builtin = {"$__rate_interval", "$__range"}
    text = json.dumps([p.get("targets", []) for p in dashboard(file)["panels"]])
    used = set(re.findall(r"\$[a-z_]+", text))
    assert used - builtin <= declared


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_panels_are_told_apart_and_do_not_overlap(file: Path) -> None:
    panels = dashboard(file)["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_panel_says_what_it_shows_and_asks_the_chosen_source(file: Path) -> None:
    document = dashboard(file)
    assert document["templating"]["list"][0]["type"] == "datasource"
    for panel in document["panels"]:
        assert panel["title"]
        for target in panel.get("targets", []):
            assert target["datasource"]["uid"] == "${datasource}", panel["title"]


def test_dashboards_have_addresses_of_their_own() -> None:
    assert len({dashboard(file)["uid"] for file in FILES}) == len(FILES)


def test_nodes_are_counted_by_labels_that_are_exported() -> None:
    text = "".join(file.read_text() for file in FILES)
    used = set(re.findall(r"label_[a-z_]+", text)) - {"label_values"}
    exported = {"label_" + re.sub(r"[^a-z]", "_", label) for label in NODE_LABELS}
    assert used
    assert used <= exported
