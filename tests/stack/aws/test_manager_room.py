"""The managers have room for the controller, the autoscaler and every add-on, and one to lose."""

from typing import Any

import pytest

from components.aws.storage.storage import DRIVER_SETTINGS
from stacks.aws import manager_room
from stacks.aws.allocatable import Size, allocatable
from stacks.aws.manager_room import OURS, Ask, asked, nodes_needed
from stacks.aws.schema import AwsSettings
from stacks.aws.services import ManagerType, service_catalog
from stacks.pages.stacks import QUARRY, config_of, recording_of, settings_of
from stacks.platform_schema import Observability
from stacks.preview import ROOT
from stacks.recorder import Registration
from stacks.schema import parse
from tests.stack.invariants.registry import pod_of

WORKLOADS = ("kubernetes:apps/v1:Deployment", "kubernetes:batch/v1:CronJob")
UNITS = {"Mi": 1, "Gi": 1024}


def everything(**managers: object) -> AwsSettings:
    """Every option on, on other managers."""
    document = config_of(QUARRY.stem)["settings"]
    document["managers"].update(managers)
    parsed = parse(document, source="everything")
    assert isinstance(parsed, AwsSettings)
    return parsed


def asked_by(workload: Registration) -> Ask:
    """What the program's own object asks for."""
    pod = pod_of(workload.inputs)
    assert pod is not None
    requests = [c["resources"]["requests"] for c in pod["containers"]]
    cpu = sum(int(r["cpu"].removesuffix("m")) for r in requests)
    memory = sum(int(r["memory"][:-2]) * UNITS[r["memory"][-2:]] for r in requests)
    replicas: int = workload.inputs["spec"].get("replicas", 1)
    return Ask(cpu, memory) * replicas


def test_what_the_program_runs_asks_for_what_the_table_says() -> None:
    recording = recording_of(QUARRY.stem)
    workloads = [w for kind in WORKLOADS for w in recording.of_type(kind)]
    found = {name: next(asked_by(w) for w in workloads if w.name.startswith(name)) for name in OURS}
    assert found == OURS
    assert len(workloads) == len(OURS), "a workload that the table does not know"


def test_the_driver_of_efs_asks_for_what_it_is_told_to() -> None:
    requests = DRIVER_SETTINGS["controller"]["resources"]["requests"]
    containers, replicas = 3, 2
    cpu, memory = int(requests["cpu"][:-1]), int(requests["memory"][:-2])
    expected = Ask(containers * cpu, containers * memory) * replicas
    assert manager_room.ADD_ONS["aws-efs-csi-driver"] == expected


def test_pages_say_what_metrics_ask_for() -> None:
    """The row of the chart, the row of the disk's driver, and the setting's own words."""
    chart = sum(manager_room.metrics(), manager_room.NOTHING)
    driver = manager_room.EBS_CONTROLLER
    page = (ROOT / "docs/observability.md").read_text()
    for ask in (chart, driver):
        room = f"{ask.cpu_millis / 1000:.1f} vCPU and {ask.memory_mib / 1024:.1f} GiB"
        assert room in page
        assert room in " ".join(str(Observability.model_fields["metrics"].description).split())


@pytest.mark.parametrize("name", service_catalog().managers)
def test_two_managers_of_any_type_can_lose_one_with_everything_on(name: str) -> None:
    settings = everything(instance_types=[name], min_nodes=2)
    assert list(manager_room.warnings(settings)) == []


def test_options_ask_for_more() -> None:
    dev = settings_of("dev")
    assert isinstance(dev, AwsSettings)
    (least, least_each), (most, most_each) = asked(dev), asked(everything())
    assert most.cpu_millis - least.cpu_millis >= 500  # Prometheus, Grafana, the EBS driver
    assert most.memory_mib - least.memory_mib >= 2048
    assert most_each.pods - least_each.pods == 4


def test_more_is_needed_of_smaller_nodes() -> None:
    sizes = [Size(vcpu=2, memory_gib=gib, max_pods=29) for gib in (8, 4, 2)]
    needed = [nodes_needed(everything(), allocatable(size)) for size in sizes]
    assert needed == sorted(needed)
    assert needed[0] == 1
    assert needed[-1] >= 4


def test_managers_that_cannot_lose_a_node_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    small = ManagerType(vcpu=2, memory_gib=4, max_pods=17, usd_per_hour=0.0416)
    catalog: Any = service_catalog()
    larger = catalog.model_copy(update={"managers": {**catalog.managers, "t3.medium": small}})
    settings = everything(min_nodes=2)
    types = settings.managers.model_copy(update={"instance_types": ("t3.medium",)})
    settings = settings.model_copy(update={"managers": types})
    monkeypatch.setattr(manager_room, "service_catalog", lambda: larger)
    (warning,) = manager_room.warnings(settings)
    assert warning.startswith("managers.min_nodes: 2 of t3.medium")
    assert "Set min_nodes to" in warning
