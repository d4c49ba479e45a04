"""Quotas that a preview tells are those that `spotrain doctor` judges, by the same numbers."""

import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jmespath  # type: ignore[import-untyped]
import pytest
import yaml
from rich.console import Console

from spotrain import contract
from spotrain.clouds.account import Quota as VcpuQuota
from spotrain.clouds.project import NodePool, Project, Quota
from spotrain.doctor import Finding, Verdict
from spotrain.doctor.account import check_account
from spotrain.doctor.project import check_project
from spotrain.job.pools import Pool, parse_pools
from spotrain.quotas import aws, gcp
from spotrain.quotas.wanted import Needs, Wanted
from stacks import preview_view
from stacks.aws.instances import gpu_catalog
from stacks.aws.services import service_catalog as aws_services
from stacks.clouds import support
from stacks.gcp import machines
from stacks.gcp.machines import machine_catalog
from stacks.gcp.schema import GcpSettings
from stacks.gcp.services import service_catalog as gcp_services
from stacks.pages.stacks import GCP_QUARRY, config_of, recording_of, settings_of, stacks_on
from stacks.preview import ROOT
from stacks.schema import parse
from tests.docs.aws_models import faults
from tests.doctor.answers import account

ON_AWS, ON_GCP = stacks_on("aws"), stacks_on("gcp")
NODE_POOL = "gcp:container/nodePool:NodePool"


def needs_of(stack: str) -> Needs:
    settings = settings_of(stack)
    return support(settings.cloud).quotas(settings)


def pools_of(stack: str) -> tuple[Pool, ...]:
    """As the platform tells them to `spotrain doctor`."""
    (found,) = [r for r in recording_of(stack).resources if r.name == "elastic-jobs-pools"]
    return parse_pools(found.inputs["data"][contract.POOLS_KEY])


def given(wanted: Wanted, of: Wanted, missing: int) -> float:
    """As much as is wanted, and of one of them less."""
    return wanted.most - (missing if wanted == of else 0)


def judged_on_aws(stack: str, of: Wanted, missing: int) -> dict[str, Finding]:
    needs, types = needs_of(stack), {n: t.vcpu for n, t in gpu_catalog().types.items()}
    types |= {name: each.vcpu for name, each in aws_services().managers.items()}
    quotas = tuple(
        VcpuQuota(each.code, each.names[0], given(each, of, missing)) for each in needs.wanted
    )
    managers = settings_of(stack).managers  # type: ignore[attr-defined]
    found = check_account(
        account(quotas=quotas, vcpus=types),
        pools_of(stack),
        {managers.instance_types[0]: managers.max_nodes},
    )
    return {each.check: each for each in found}


def judged_on_gcp(stack: str, of: Wanted, missing: int) -> dict[str, Finding]:
    needs, settings = needs_of(stack), settings_of(stack)
    listed = {
        each.names[0]: Quota(each.names[0], given(each, of, missing), 0) for each in needs.wanted
    }
    pools = tuple(_node_pool(r.inputs) for r in recording_of(stack).of_type(NODE_POOL))
    types = {n: shapes[0].vcpu for n, shapes in machine_catalog().shapes.items()}
    types |= {name: each.vcpu for name, each in gcp_services().managers.items()}
    project = Project(
        id="mine",
        region=needs.region,
        quotas=listed,
        all_regions=listed,
        types={(t, zone): n for t, n in types.items() for zone in settings.zones},  # type: ignore[attr-defined]
        node_pools=pools,
        images={},
    )
    return {each.check: each for each in check_project(project, pools_of(stack))}


def _node_pool(inputs: dict[str, Any]) -> NodePool:
    """As GKE tells it."""
    node = inputs["nodeConfig"]
    return NodePool(
        name=inputs.get("name", "managers"),
        pool=node["labels"].get(contract.LABEL_POOL, ""),
        zones=tuple(inputs["nodeLocations"]),
        max_nodes=inputs["autoscaling"]["totalMaxNodeCount"],
        status="RUNNING",
        machine_type=node["machineType"],
        disk_gb=node["diskSizeGb"],
        disk_type=node["diskType"],
        is_spot=node.get("spot", False),
    )


EACH = [
    pytest.param(stack, wanted, id=f"{stack}-{wanted.names[0]}")
    for stack in (*ON_AWS, *ON_GCP)
    for wanted in needs_of(stack).wanted
]


def judged(stack: str, of: Wanted, missing: int) -> Finding | None:
    if stack in ON_AWS:
        found = judged_on_aws(stack, of, missing)
        managers = all(not draw.trains for draw in of.draws)
        return found["quota of the managers" if managers else f"quota {of.names[0]}"]
    return judged_on_gcp(stack, of, missing).get(f"quota {of.names[0]}")


@pytest.mark.parametrize(("stack", "wanted"), EACH)
def test_an_account_with_what_the_preview_asks_for_passes_the_doctor_and_with_one_less_does_not(
    stack: str, wanted: Wanted
) -> None:
    """Prometheus has no node, so the doctor does not see its disk."""
    unseen = sum(draw.largest for draw in wanted.draws if draw.name == "Prometheus")
    enough, less = judged(stack, wanted, 0), judged(stack, wanted, unseen + 1)
    if enough is None or less is None:  # no pool of GPUs draws on it
        assert all(not draw.trains for draw in wanted.draws)
        return
    assert (enough.verdict, less.verdict) == (Verdict.passed, Verdict.warn)


@pytest.mark.parametrize(("stack", "wanted"), EACH)
def test_every_quota_is_drawn_in_full_at_80_columns(stack: str, wanted: Wanted) -> None:
    text = io.StringIO()
    console = Console(width=80, file=text)
    console.print(preview_view.quotas_table(needs_of(stack)))
    drawn = text.getvalue().replace("\N{HORIZONTAL ELLIPSIS}", "")
    assert max(map(len, drawn.splitlines())) <= 80
    cells = [line[1:40].strip() for line in drawn.splitlines()]
    told = " ".join(cell for cell in cells if cell)
    assert all(name in told for name in wanted.names)
    assert wanted.code in told
    assert f" {wanted.at_first:,} " in drawn
    assert f" {wanted.most:,} " in drawn
    assert needs_of(stack).region in drawn


def test_a_stack_on_machines_that_are_there_asks_for_no_quota() -> None:
    assert needs_of("kind") == Needs()


# --- AWS ------------------------------------------------------------------------------------------


def test_the_small_stack_wants_what_its_largest_types_take() -> None:
    """16 nodes of g4dn.xlarge or g4dn.2xlarge, and 2 to 3 managers of 2 vCPUs."""
    told = {each.code: (each.new, each.at_first, each.most) for each in needs_of("dev").wanted}
    assert told == {"L-3819A6DF": ("0", 8, 128), "L-1216C47A": ("5", 4, 14)}


@pytest.mark.parametrize("stack", ON_AWS)
def test_the_command_that_asks_what_there_is_picks_those_quotas_and_no_other(stack: str) -> None:
    needs = needs_of(stack)
    (command,) = needs.show
    words = shlex.split(command)
    assert list(faults(words)) == []
    assert words[words.index("--region") + 1] == needs.region
    answer = {
        "Quotas": [
            {"QuotaCode": each.code, "QuotaName": each.name, "Value": each.new}
            for each in (*aws.KNOWN, aws.KnownQuota("L-34B43A08", "All Standard (A, C)", 5))
        ]
    }
    picked = jmespath.search(words[words.index("--query") + 1], answer)
    assert [code for code, *_ in picked] == [each.code for each in needs.wanted]


@pytest.mark.parametrize("stack", ON_AWS)
def test_the_commands_that_ask_for_more_name_each_quota_with_all_that_is_wanted(stack: str) -> None:
    needs = needs_of(stack)
    for command, wanted in zip(needs.ask, needs.wanted, strict=True):
        words = shlex.split(command)
        assert list(faults(words)) == []
        assert words[-4:] == ["--quota-code", wanted.code, "--desired-value", str(wanted.most)]


def test_the_page_asks_as_the_preview_does() -> None:
    page = (ROOT / "docs/operations.md").read_text()
    codes = [each.code for each in needs_of("dev").wanted]
    assert f"$ {aws.show_quotas(codes, '$REGION')}\n" in page
    assert f"$ {aws.raise_quota(codes[0], needs_of('dev').wanted[0].most, '$REGION')}\n" in page


@pytest.mark.parametrize("capacity", [contract.CAPACITY_SPOT, contract.CAPACITY_ON_DEMAND])
def test_every_type_of_aws_has_a_quota_but_one_whose_name_nobody_knows(capacity: str) -> None:
    nameless = {
        name.partition(".")[0]
        for name in gpu_catalog().types
        if aws.find_quota(aws.KNOWN, capacity, name) is None
    }
    assert nameless == ({"p6-b200"} if capacity == contract.CAPACITY_SPOT else set())
    for name in aws_services().managers:
        known = aws.find_quota(aws.KNOWN, contract.CAPACITY_ON_DEMAND, name)
        assert known is not None
        assert known.code == "L-1216C47A"


def test_a_pool_whose_quota_has_no_name_here_is_told_to_look_for_it() -> None:
    settings = config_of("dev")["settings"]
    b200 = {"gpu": "b200", "gpus_per_node": 8, "instance_types": ["p6-b200.48xlarge"]}
    settings["pools"] = [{"name": "b200", "max_nodes": 1, **b200}]
    needs = support("aws").quotas(parse(settings, source="x"))
    assert [each.code for each in needs.wanted] == ["L-1216C47A"]
    assert (
        "Service Quotas console for the quota of b200 (spot, p6-b200.48xlarge)." in needs.notes[-1]
    )


def test_the_managers_are_in_as_many_zones_as_their_quota_counts_with() -> None:
    groups = recording_of("prod").of_type("aws:eks/nodeGroup:NodeGroup")
    (managers,) = [group for group in groups if group.name == "managers-group"]
    assert len(managers.inputs["subnetIds"]) == aws.MANAGER_ZONES


# --- Google Cloud ---------------------------------------------------------------------------------


def test_the_managers_are_upgraded_by_as_many_more_as_their_quota_counts_with() -> None:
    (managers,) = [r for r in recording_of("gcp").of_type(NODE_POOL) if "managers" in r.name]
    surge = managers.inputs["upgradeSettings"]["maxSurge"]
    assert gcp.managers_while_upgraded(7) == 7 + surge


def test_the_small_stack_on_google_wants_gpus_vcpus_and_disks() -> None:
    """24 nodes of each pool, with 4 vCPUs and 100 GB; 2 to 4 managers and one more, 2 and 50."""
    told = {each.names: (each.unit, each.at_first, each.most) for each in needs_of("gcp").wanted}
    assert told == {
        ("PREEMPTIBLE_NVIDIA_L4_GPUS", "NVIDIA_L4_GPUS"): ("GPUs", 1, 24),
        ("PREEMPTIBLE_NVIDIA_T4_GPUS", "NVIDIA_T4_GPUS"): ("GPUs", 1, 24),
        ("GPUS_ALL_REGIONS",): ("GPUs", 2, 48),
        ("PREEMPTIBLE_CPUS", "CPUS"): ("vCPUs", 4, 96),
        ("E2_CPUS", "CPUS"): ("vCPUs", 4, 10),
        ("CPUS_ALL_REGIONS",): ("vCPUs", 12, 202),
        ("SSD_TOTAL_GB",): ("GB", 300, 5050),
    }


def test_machines_on_demand_and_the_disk_of_prometheus_are_counted() -> None:
    told = {each.names: each for each in needs_of(GCP_QUARRY).wanted}
    assert [draw.name for draw in told["CPUS",].draws] == ["t4-on-demand"]
    assert [draw.name for draw in told["NVIDIA_T4_GPUS",].draws] == ["t4-on-demand"]
    assert [draw.name for draw in told["SSD_TOTAL_GB",].draws][-2:] == ["managers", "Prometheus"]


def test_every_gpu_and_manager_of_google_has_a_quota_that_is_named() -> None:
    shapes = [each for some in machine_catalog().shapes.values() for each in some]
    assert {each.gpu for each in shapes} <= gcp.GPUS.keys()
    assert {name.partition("-")[0] for name in gcp_services().managers} <= gcp.VCPUS.keys()


@pytest.fixture
def with_h200(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Somebody has added it to the table, as the refusal of an unknown type tells them to."""
    table = yaml.safe_load(machines.FILE.read_text())
    table["families"]["a3-ultragpu"] = {
        "gpu": "h200",
        "accelerator": "nvidia-h200-141gb",
        "gpu_memory_gib": 141,
    }
    table["types"]["a3-ultragpu-8g"] = {"vcpu": 224, "memory_gib": 2952, "gpus": 8}
    for region in table["regions"].values():
        region["gpus"]["h200"] = region["zones"]
        region["usd_per_hour"]["a3-ultragpu-8g"] = {"on_demand": 85, "spot": 40}
    (tmp_path / "gpus.yaml").write_text(yaml.safe_dump(table))
    monkeypatch.setattr(machines, "FILE", tmp_path / "gpus.yaml")
    machine_catalog.cache_clear()
    yield
    machine_catalog.cache_clear()


@pytest.mark.usefixtures("with_h200")
def test_a_pool_of_a_gpu_that_was_added_is_told_to_look_for_its_quota() -> None:
    settings = config_of("gcp")["settings"]
    h200 = {"gpu": "h200", "gpus_per_node": 8, "machine_type": "a3-ultragpu-8g"}
    settings["pools"] = [{"name": "h200", "max_nodes": 1, "capacity": "spot", **h200}]
    needs = support("gcp").quotas(parse(settings, source="x"))
    drawn = {each.names: [draw.name for draw in each.draws] for each in needs.wanted}
    assert drawn["GPUS_ALL_REGIONS",] == ["h200"]
    assert drawn["SSD_TOTAL_GB",] == ["h200", "managers"]
    assert "Quotas, for the quota of h200 (spot, h200)." in needs.notes[-1]


@pytest.mark.parametrize("stack", ON_GCP)
def test_every_nodes_disk_is_of_a_type_that_its_quota_counts(stack: str) -> None:
    types = {r.inputs["nodeConfig"]["diskType"] for r in recording_of(stack).of_type(NODE_POOL)}
    assert types <= set(gcp.ON_SSD)


@pytest.mark.parametrize("stack", ON_GCP)
def test_the_commands_on_google_are_about_the_stacks_project_and_region(stack: str) -> None:
    settings = settings_of(stack)
    assert isinstance(settings, GcpSettings)
    of_region, of_all = (shlex.split(command) for command in needs_of(stack).show)
    assert of_region[:5] == ["gcloud", "compute", "regions", "describe", settings.region]
    for words in (of_region, of_all):
        assert words[words.index("--project") + 1] == settings.project
    picked = [re.compile(words[-1]) for words in (of_region, of_all)]
    for wanted in needs_of(stack).wanted:
        asked = picked[1 if "ALL_REGIONS" in wanted.names[0] else 0]
        assert all(asked.search(name) for name in wanted.names)
