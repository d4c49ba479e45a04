"""Each object of the cluster that the platform rests on, and what is made of it."""

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml

from spotrain import contract
from spotrain.doctor import Finding, Verdict
from spotrain.doctor.access import check_clock, check_right, check_user
from spotrain.doctor.autoscaling import check_autoscaler
from spotrain.doctor.laptop import GIB, Laptop, check_laptop
from spotrain.doctor.platform import (
    check_archive,
    check_controller,
    check_definition,
    check_gpu_plugin,
    check_pools,
    check_prices,
    check_storage,
    controller_image,
)
from spotrain.explain.autoscaler import read_autoscaler
from spotrain.job import Price
from stacks.preview import ROOT
from tests.doctor.answers import ZONES, pool
from tests.explain.scene import autoscaler_status, group

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
DEFINITION: dict[str, Any] = yaml.safe_load((ROOT / "k8s/crd.yaml").read_text())
PASS, WARN, FAIL = Verdict


def older_definition(*missing: str) -> dict[str, Any]:
    definition = copy.deepcopy(DEFINITION)
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for name in missing:
        del schema["properties"]["spec"]["properties"][name]
    return definition


@pytest.mark.parametrize(
    ("definition", "verdict", "said"),
    [
        (DEFINITION, PASS, "is served"),
        ({}, FAIL, "versions: none"),
        (
            {"spec": {"versions": [{"name": "v1beta1", "served": True}]}},
            FAIL,
            "v1alpha1 is not served (versions: v1beta1)",
        ),
        (older_definition("budget", "elastic"), WARN, "does not know budget, elastic"),
    ],
)
def test_the_definition_must_be_served_and_as_new(
    definition: dict[str, Any], verdict: Verdict, said: str
) -> None:
    found = check_definition(definition)
    assert found.verdict is verdict
    assert said in found.said


def deployment(**status: int) -> dict[str, Any]:
    pod = {"spec": {"containers": [{"image": "registry/controller@sha256:1"}]}}
    return {"spec": {"replicas": 2, "template": pod}, "status": status}


@pytest.mark.parametrize(
    ("found", "verdict", "said"),
    [
        (deployment(readyReplicas=2, updatedReplicas=2), PASS, "of registry/controller@sha256:1"),
        (deployment(readyReplicas=1, updatedReplicas=2), WARN, "Nobody takes over"),
        (deployment(readyReplicas=2, updatedReplicas=1), WARN, "1 are of an older version"),
        (deployment(), FAIL, "none of its 2 replicas is ready"),
        ({}, FAIL, "not installed"),
    ],
)
def test_the_controller_must_run(found: dict[str, Any], verdict: Verdict, said: str) -> None:
    finding = check_controller(found)
    assert finding.verdict is verdict
    assert said in finding.said


def archive(ready: str = "True", **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "spotrain-archive-1", **metadata},
        "spec": {"containers": [{"image": "registry/controller@sha256:1"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]},
    }


@pytest.mark.parametrize(
    ("pods", "verdict", "said"),
    [
        ([archive()], PASS, "of the controller's version"),
        ([archive("False"), archive()], PASS, "ready"),
        ([archive("False")], WARN, "is Running and not ready"),
        ([archive(deletionTimestamp="2026-01-01T00:00:00Z")], WARN, "no pod of it is in jobs"),
        ([], WARN, "logs, code and the whole ledger"),
    ],
)
def test_an_archive_that_is_away_keeps_no_job_from_running(
    pods: list[Any], verdict: Verdict, said: str
) -> None:
    image = controller_image(deployment())
    found = check_archive(pods, "jobs", controller_image=image)
    assert found.verdict is verdict
    assert said in found.said


def test_an_archive_of_another_version_than_the_controller_is_told() -> None:
    found = check_archive([archive()], "jobs", controller_image="registry/controller@sha256:2")
    assert (found.verdict, "not the controller's image" in found.said) == (WARN, True)
    assert check_archive([archive()], "jobs", controller_image="").verdict is PASS


def claim(phase: str) -> dict[str, Any]:
    return {"metadata": {"name": contract.VOLUME_CLAIM}, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("claims", "verdict"),
    [([claim("Bound")], PASS), ([claim("Pending")], FAIL), ([claim("Lost")], FAIL), ([], FAIL)],
)
def test_the_shared_volume_must_be_bound(claims: list[Any], verdict: Verdict) -> None:
    assert check_storage(claims, "jobs").verdict is verdict


def node(gpus: int, ready: str = "True") -> dict[str, Any]:
    return {
        "metadata": {"name": "node-0", "labels": {contract.LABEL_POOL: "t4-spot"}},
        "status": {
            "conditions": [{"type": "Ready", "status": ready}],
            "allocatable": {contract.GPU_RESOURCE: str(gpus)},
        },
    }


def plugin(wanted: int, ready: int) -> dict[str, Any]:
    return {"status": {"desiredNumberScheduled": wanted, "numberReady": ready}}


@pytest.mark.parametrize(
    ("daemon_set", "nodes", "verdict"),
    [
        (plugin(0, 0), [], PASS),
        (plugin(2, 2), [node(1)], PASS),
        (plugin(2, 1), [node(1)], FAIL),
        (plugin(1, 1), [node(0)], FAIL),
        (plugin(1, 1), [node(0, ready="False")], PASS),
        ({}, [node(1)], PASS),
        ({}, [], WARN),
        (None, [node(1)], PASS),
        (None, [node(0)], FAIL),
        (None, [], WARN),
    ],
)
def test_gpus_must_count(daemon_set: Any, nodes: list[Any], verdict: Verdict) -> None:
    assert check_gpu_plugin(daemon_set, nodes, [pool()]).verdict is verdict


def test_google_brings_the_plugin_and_a_node_without_gpus_is_told_all_the_same() -> None:
    pools = [pool(zones=("us-central1-a",))]
    assert check_gpu_plugin({}, [], pools).verdict is PASS
    assert check_gpu_plugin(None, [], pools).verdict is PASS
    broken = check_gpu_plugin({}, [node(0)], pools)
    assert (broken.verdict, "nvidia-gpu-device-plugin" in broken.fix) == (FAIL, True)


def test_a_platform_without_gpus_needs_no_plugin() -> None:
    assert check_gpu_plugin({}, [], [pool(gpu="cpu", gpus_per_node=0)]).verdict is PASS


def test_there_must_be_pools() -> None:
    assert check_pools([]).verdict is FAIL
    assert check_pools([pool()]).verdict is PASS


@pytest.mark.parametrize(("hours", "verdict"), [(0, PASS), (6, PASS), (6.1, WARN)])
def test_prices_grow_old(hours: float, verdict: Verdict) -> None:
    told = NOW - timedelta(hours=hours)
    price = Price(
        pool="t4-spot", zone="a", instance_type="g4dn.xlarge", spot_usd_per_hour=0.2, at=told
    )
    assert check_prices([price], [pool()], now=NOW).verdict is verdict


def test_without_prices_costs_are_reckoned_with_the_pools_own() -> None:
    assert check_prices([], [pool()], now=NOW).verdict is WARN
    assert check_prices([], [pool(capacity="on-demand")], now=NOW).verdict is PASS


# --- The autoscaler -------------------------------------------------------------------------------
def status(*told: dict[str, Any], age: float = 0) -> list[Finding]:
    moment = NOW - timedelta(minutes=age)
    seen = read_autoscaler(autoscaler_status(list(told), moment))
    return list(check_autoscaler(seen, [pool()], now=NOW))


def of(zone: str, **told: Any) -> dict[str, Any]:
    return group(f"eks-pool-t4-spot-{zone}-0a1b-22cc", **{"most": 4, **told})


BOTH = [of(zone) for zone in ZONES]


def test_an_autoscaler_that_sees_every_group_passes() -> None:
    (found,) = status(*BOTH)
    assert found.verdict is PASS


def test_a_zone_without_a_group_gets_no_nodes() -> None:
    (found,) = status(BOTH[0], of("us-east-1c"))
    assert (found.verdict, "t4-spot, us-east-1b" in found.said) == (FAIL, True)


def test_the_twin_of_a_pool_is_not_taken_for_it() -> None:
    twin = group(f"eks-pool-t4-spot-on-demand-{ZONES[1]}-0a1b", most=4)
    (found,) = status(BOTH[0], twin)
    assert found.verdict is FAIL


def test_a_group_that_gets_no_nodes_is_told_with_the_clouds_words() -> None:
    said = "We currently do not have sufficient capacity"
    found = status(of(ZONES[0], status="Backoff", code="x", error=said), BOTH[1])[0]
    assert (found.verdict, said in found.said) == (WARN, True)


def test_a_group_of_another_size_than_its_pool_is_told() -> None:
    found = status(of(ZONES[0], most=2), BOTH[1])[0]
    assert (found.verdict, "2 nodes, the pool says 4" in found.said) == (WARN, True)


@pytest.mark.parametrize(("minutes", "verdict"), [(4.9, PASS), (5.1, FAIL)])
def test_an_autoscaler_that_fell_silent_is_away(minutes: float, verdict: Verdict) -> None:
    assert status(*BOTH, age=minutes)[0].verdict is verdict


def test_without_an_autoscaler_no_rented_node_comes() -> None:
    (found,) = check_autoscaler(None, [pool()], now=NOW)
    assert found.verdict is FAIL
    assert list(check_autoscaler(None, [pool(instance_types=())], now=NOW)) == []


# --- Where Google runs the autoscaler -------------------------------------------------------------
GROUPS = "https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-a/instanceGroups"


def on_google(*groups: dict[str, Any]) -> list[Finding]:
    told = read_autoscaler(autoscaler_status(list(groups), NOW)) if groups else None
    return list(check_autoscaler(told, [pool(zones=("us-central1-a",))], now=NOW))


def test_google_runs_it_whether_it_tells_of_itself_or_not() -> None:
    (silent,) = on_google()
    assert (silent.verdict, "Google runs it" in silent.said) == (PASS, True)
    (telling,) = on_google(group(f"{GROUPS}/gke-dev-managers-1a2b3c4d-grp"))
    assert telling.verdict is PASS


@pytest.mark.parametrize(
    ("name", "is_of"),
    [
        pytest.param("gke-dev-t4-spot-us-central1-a-1a2b3c4d-grp", True, id="whole"),
        pytest.param("gke-dev-t4-spot-us-cent-1a2b3c4d-grp", True, id="cut-short"),
        pytest.param("gke-dev-t4-spot-a-1a2b3c4d-grp", True, id="as-the-stack-names-it"),
        pytest.param("gke-dev-t4-spot-b-1a2b3c4d-grp", False, id="another-zone"),
        pytest.param("gke-dev-t4-spot-1a2b3c4d-grp", True, id="the-pool-alone"),
        pytest.param("gke-dev-t4-spot-big-us-cen-1a2b3c4d-grp", False, id="another-pool"),
        pytest.param("gke-dev-not4-spot-us-cent-1a2b3c4d-grp", False, id="a-word-within-a-word"),
        pytest.param("gke-t4-spot-managers-1a2b3c4d-grp", False, id="a-cluster-of-that-name"),
    ],
)
def test_a_group_is_known_by_what_gke_leaves_of_its_name(name: str, is_of: bool) -> None:
    told = group(f"{GROUPS}/{name}", status="Backoff", code="GCE_STOCKOUT", error="none left")
    found = on_google(told)
    assert any("GCE_STOCKOUT" in each.said for each in found) is is_of


# --- The way to the cluster -----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("theirs", "verdict"),
    [(0, PASS), (10, PASS), (-10, PASS), (30, WARN), (-30, WARN), (400, FAIL), (-400, FAIL)],
)
def test_clocks_must_agree(theirs: float, verdict: Verdict) -> None:
    told = NOW + timedelta(seconds=theirs)
    assert check_clock(told, before=NOW, after=NOW).verdict is verdict


def test_a_slow_answer_is_no_wrong_clock() -> None:
    after = NOW + timedelta(seconds=40)
    assert check_clock(NOW + timedelta(seconds=20), before=NOW, after=after).verdict is PASS
    assert check_clock(None, before=NOW, after=after).verdict is WARN


def test_who_may_not_create_jobs_is_told_whom_to_ask() -> None:
    found = check_right(False, "jobs")
    assert found.verdict is FAIL
    assert contract.RESEARCHERS_GROUP in found.fix
    assert check_right(True, "jobs").verdict is PASS
    assert "ada" in check_user("ada", [contract.RESEARCHERS_GROUP]).said


# --- This machine ---------------------------------------------------------------------------------
def laptop(**changed: Any) -> list[tuple[str, Verdict]]:
    facts: dict[str, Any] = {
        "python": (3, 11),
        "torch": "2.13.0+cpu",
        "free_disk_bytes": 5 * GIB,
        "folder": "here",
        "is_writable": True,
        "memory_bytes": 2 * GIB,
        "binds_loopback": True,
        "cores": 4,
    }
    findings = check_laptop(Laptop(**{**facts, **changed}))
    return [(each.check, each.verdict) for each in findings if each.verdict is not PASS]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, []),
        ({"python": (3, 10)}, [("python", FAIL)]),
        ({"torch": ""}, [("torch", FAIL)]),
        ({"torch": "2.12.1"}, [("torch", FAIL)]),
        ({"torch": "3.0.0"}, []),
        ({"free_disk_bytes": 5 * GIB - 1}, [("disk", WARN)]),
        ({"free_disk_bytes": GIB - 1}, [("disk", FAIL)]),
        ({"is_writable": False}, [("disk", FAIL)]),
        ({"memory_bytes": 2 * GIB - 1}, [("memory", WARN)]),
        ({"memory_bytes": 0}, []),
        ({"binds_loopback": False}, [("ports", FAIL)]),
        ({"torch": "", "binds_loopback": False}, [("torch", FAIL), ("ports", FAIL)]),
    ],
)
def test_what_this_machine_lacks_is_told(changed: dict[str, Any], expected: Any) -> None:
    assert laptop(**changed) == expected
