"""Alert rules: about metrics that exist, with a next step, and firing when they should."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.cloud import AlertReceiver
from components.manifest import read_manifest
from components.platform.alert_routes import alert_config
from spotrain import contract
from stacks.preview import ROOT
from tests.stack.queries import EXPORTERS, metrics_of, our_metrics
from tests.stack.test_dashboards import exporter_of_gpus

STORIES = Path(__file__).parent / "alerts.test.yaml"
PROMTOOL = os.environ.get("PROMTOOL") or shutil.which("promtool")
RULES = [
    rule
    for document in read_manifest("alerts.yaml")
    for group in document["spec"]["groups"]
    for rule in group["rules"]
]
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])


@every_rule
def test_a_rule_reads_metrics_that_somebody_provides(rule: dict[str, Any]) -> None:
    provided = our_metrics() | exporter_of_gpus() | EXPORTERS["Prometheus itself"]
    read = metrics_of(rule["expr"])
    assert read
    assert read <= provided


@every_rule
def test_a_rule_says_how_grave_it_is_and_what_to_do_next(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("info", "warning", "critical")
    assert rule["labels"].get("notify", "event") in ("event", "state")
    assert rule["annotations"]["summary"]
    assert "kubectl " in rule["annotations"]["description"]


@every_rule
def test_a_rule_is_explained_where_it_says(rule: dict[str, Any]) -> None:
    file, anchor = rule["annotations"]["runbook"].split("#")
    headings = re.findall(r"^#+ (.+)$", (ROOT / file).read_text(), re.MULTILINE)
    assert anchor in [heading.lower().replace(" ", "-") for heading in headings]
    assert anchor == rule["alert"].lower()


def test_no_two_rules_share_a_name() -> None:
    names = [rule["alert"] for rule in RULES]
    assert len(set(names)) == len(names) == 10


def test_people_are_told_of_ends_and_stalls() -> None:
    told = {rule["alert"] for rule in RULES if "notify" in rule["labels"]}
    assert told >= {
        "SpotrainJobSucceeded",
        "SpotrainJobFailed",
        "SpotrainJobStalled",
        "SpotrainWorldStalled",
        "SpotrainControllerDown",
    }


def test_every_label_that_means_somebody_has_a_route() -> None:
    config = alert_config(AlertReceiver(kind="webhook_configs", settings={"url": "x"}))
    routed = {matcher for route in config["route"]["routes"] for matcher in route["matchers"]}
    used = {f'notify = "{r["labels"]["notify"]}"' for r in RULES if "notify" in r["labels"]}
    assert used == routed


def test_the_controllers_are_watched_where_they_run() -> None:
    (monitor,) = (
        d for d in read_manifest("monitors.yaml") if d["metadata"]["name"] == "spotrain-controller"
    )
    assert monitor["spec"]["namespaceSelector"] == {"matchNames": [contract.SYSTEM_NAMESPACE]}


# --- By Prometheus' own judge ---


@pytest.fixture
def promtool(tmp_path: Path) -> Any:
    """Runs promtool in a folder with the rules as Prometheus itself reads them."""
    if PROMTOOL is None:
        pytest.skip("promtool is not on the PATH; name it in PROMTOOL")
    (document,) = read_manifest("alerts.yaml")
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(document["spec"]))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(PROMTOOL), *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    return run


def test_prometheus_accepts_the_rules(promtool: Any) -> None:
    judged = promtool("check", "rules", "--lint=all", "--lint-fatal", "rules.yaml")
    assert judged.returncode == 0, judged.stdout + judged.stderr


def test_alerts_fire_when_they_should_and_only_then(promtool: Any, tmp_path: Path) -> None:
    shutil.copy(STORIES, tmp_path / "stories.yaml")
    judged = promtool("test", "rules", "stories.yaml")
    assert judged.returncode == 0, judged.stdout + judged.stderr


def test_every_rule_has_a_story() -> None:
    stories = yaml.safe_load(STORIES.read_text())["tests"]
    fired = {
        expected["alertname"]
        for story in stories
        for expected in story["alert_rule_test"]
        if expected["exp_alerts"]
    }
    assert fired == {rule["alert"] for rule in RULES}
