"""What a preflight finds in a Google Cloud project: its answers are asked for over real HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest

from spotrain import contract
from spotrain.clouds.answers import Refused
from spotrain.clouds.gcp_project import ask_project
from spotrain.doctor import Finding, Verdict
from spotrain.doctor.project import check_project
from spotrain.job import Pool
from tests.clouds.google_project import (
    CLUSTERS_PATH,
    IMAGE,
    IMAGE_PATH,
    MANAGER,
    PROJECT,
    PROJECT_PATH,
    REGION,
    REGION_PATH,
    SERVER,
    TAG_PATH,
    TAGGED,
    TYPE,
    ZONES,
    answers,
    cluster,
    machine_path,
    node_pool,
    quotas,
)
from tests.clouds.google_server import (
    BROKEN,
    BUSY,
    DENIED,
    DISABLED,
    NOT_FOUND,
    THROTTLED,
    UNAUTHENTICATED,
    Answer,
    GoogleServer,
    google_server,
)
from tests.doctor.answers import pool

PASS, WARN, FAIL = Verdict
SPOT_QUOTA = "quota PREEMPTIBLE_NVIDIA_T4_GPUS"


@pytest.fixture
def google() -> Iterator[GoogleServer]:
    with google_server() as server:
        server.answers = answers()
        yield server


def own(**changed: Any) -> Pool:
    """Of four nodes in each of two zones: eight GPUs."""
    values = {"zones": ZONES, "instance_types": (TYPE,), "notice_seconds": 105, **changed}
    return pool(**values)


def check(google: GoogleServer, *pools: Pool, server: str = SERVER) -> dict[str, Finding]:
    pools = pools or (own(),)
    project = ask_project(
        google.client(),
        project=PROJECT,
        region=REGION,
        server=server,
        markets=sorted({(t, z) for each in pools for t in each.instance_types for z in each.zones}),
        images=[IMAGE, TAGGED, "docker.io/library/python:3"],
    )
    found = list(check_project(project, pools))
    named = {each.check if each.check != "image" else each.said.split()[0]: each for each in found}
    assert len(named) == len(found)
    return named


def verdicts(found: dict[str, Finding]) -> dict[str, Verdict]:
    return {name: each.verdict for name, each in found.items() if each.verdict is not PASS}


def test_a_project_that_has_all_it_needs_passes(google: GoogleServer) -> None:
    found = check(google)
    assert verdicts(found) == {f"{PROJECT}/spotrain/team/own:v1": WARN}  # a tag may move
    assert found.keys() == {
        "cloud credentials",
        SPOT_QUOTA,
        "quota GPUS_ALL_REGIONS",
        *(f"machine types of t4-spot, {zone}" for zone in ZONES),
        *(f"node pool of t4-spot, {zone}" for zone in ZONES),
        f"{PROJECT}/spotrain/training@{'sha256:' + '1' * 64}"[:60],
        f"{PROJECT}/spotrain/team/own:v1",
    }


def test_nothing_is_asked_for_twice_and_nothing_is_written(google: GoogleServer) -> None:
    check(google)
    assert len(google.paths) == len(set(google.paths)) == len(answers())


# --- Quotas -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [
        pytest.param(9, PASS, id="more-than-enough"),
        pytest.param(8, PASS, id="exactly-at-the-limit"),
        pytest.param(7, WARN, id="one-too-few"),
        pytest.param(1, WARN, id="a-single-one"),
    ],
)
def test_a_quota_is_judged_by_the_most_that_the_pools_may_want(
    google: GoogleServer, limit: int, verdict: Verdict
) -> None:
    google.answers[REGION_PATH] = (200, quotas(PREEMPTIBLE_NVIDIA_T4_GPUS=limit))
    found = check(google)[SPOT_QUOTA]
    assert found.verdict is verdict
    assert f"{limit} GPUs in us-central1, 2 in use; t4-spot may want 8" in found.said
    assert bool(found.fix) is (verdict is not PASS)


def test_pools_that_draw_on_one_quota_are_counted_together(google: GoogleServer) -> None:
    found = check(google, own(), own(name="t4-more", max_nodes=1))
    assert found[SPOT_QUOTA].verdict is WARN
    assert "t4-spot, t4-more may want 10" in found[SPOT_QUOTA].said


@pytest.mark.parametrize(
    ("told", "metric", "verdict"),
    [
        pytest.param(
            {"PREEMPTIBLE_NVIDIA_T4_GPUS": 0, "NVIDIA_T4_GPUS": 8},
            "NVIDIA_T4_GPUS",
            PASS,
            id="spot-draws-on-that-of-all-where-it-has-none",
        ),
        pytest.param({"NVIDIA_T4_GPUS": 8}, "NVIDIA_T4_GPUS", PASS, id="none-for-spot"),
        pytest.param(
            {"PREEMPTIBLE_NVIDIA_T4_GPUS": 0, "NVIDIA_T4_GPUS": 0},
            "NVIDIA_T4_GPUS",
            FAIL,
            id="none-at-all",
        ),
        pytest.param(
            {"PREEMPTIBLE_NVIDIA_T4_GPUS": 0}, "PREEMPTIBLE_NVIDIA_T4_GPUS", FAIL, id="zero"
        ),
    ],
)
def test_spot_draws_on_its_own_quota_or_on_that_of_all(
    google: GoogleServer, told: dict[str, float], metric: str, verdict: Verdict
) -> None:
    google.answers[REGION_PATH] = (200, quotas(**told))
    assert check(google)[f"quota {metric}"].verdict is verdict


def test_machines_at_the_full_price_draw_on_the_quota_of_all(google: GoogleServer) -> None:
    found = check(google, own(capacity=contract.CAPACITY_ON_DEMAND))
    assert (found["quota NVIDIA_T4_GPUS"].verdict, SPOT_QUOTA in found) == (WARN, False)


def test_a_quota_that_is_not_listed_is_said_to_be_unknown(google: GoogleServer) -> None:
    found = check(google, own(gpu="b200"))["quota of t4-spot"]
    assert found.verdict is WARN
    assert "lists no quota of spot b200" in found.said


def test_no_gpu_in_any_region_is_told_beside_a_region_that_would_have_some(
    google: GoogleServer,
) -> None:
    google.answers[PROJECT_PATH] = (200, quotas(GPUS_ALL_REGIONS=0))
    found = check(google)
    assert (found["quota GPUS_ALL_REGIONS"].verdict, found[SPOT_QUOTA].verdict) == (FAIL, PASS)


@pytest.mark.parametrize(
    ("told", "capacity", "said", "verdict"),
    [
        ({"CPUS": 40}, "on-demand", "t4-spot, managers may want 40", PASS),
        ({"CPUS": 39}, "on-demand", "t4-spot, managers may want 40", WARN),
        ({"CPUS": 3}, "on-demand", "The smallest node has 4: none can be had.", FAIL),
        ({"CPUS": 32, "E2_CPUS": 6}, "on-demand", "t4-spot may want 32", PASS),
        ({"CPUS": 39, "PREEMPTIBLE_CPUS": 0}, "spot", "t4-spot, managers may want 40", WARN),
    ],
)
def test_the_vcpus_of_the_machines_are_judged_beside_their_gpus_the_managers_too(
    google: GoogleServer, told: dict[str, float], capacity: str, said: str, verdict: Verdict
) -> None:
    """Eight machines of 4 vCPUs, and three of 2, with one more while they are upgraded."""
    google.answers[REGION_PATH] = (200, quotas(NVIDIA_T4_GPUS=8, **told))
    found = check(google, own(capacity=capacity))
    judged = found["quota CPUS"]
    assert judged.verdict is verdict
    assert "vCPUs in us-central1, 2 in use; " in judged.said
    assert said in judged.said
    assert "quota E2_CPUS" not in found  # no pool of GPUs draws on it


def test_spot_machines_draw_on_vcpus_of_their_own_and_leave_the_managers_theirs(
    google: GoogleServer,
) -> None:
    google.answers[REGION_PATH] = (200, quotas(NVIDIA_T4_GPUS=8, CPUS=6, PREEMPTIBLE_CPUS=32))
    found = check(google)
    assert found["quota PREEMPTIBLE_CPUS"].verdict is PASS
    assert "t4-spot may want 32" in found["quota PREEMPTIBLE_CPUS"].said


@pytest.mark.parametrize(("limit", "verdict"), [(40, PASS), (39, WARN), (12, WARN), (3, FAIL)])
@pytest.mark.parametrize("capacity", ["spot", "on-demand"])
def test_the_vcpus_of_all_regions_are_judged_with_every_node_of_the_cluster(
    google: GoogleServer, limit: int, verdict: Verdict, capacity: str
) -> None:
    """A region with plenty does not help: a new project may have 12 in all."""
    google.answers[REGION_PATH] = (200, quotas(NVIDIA_T4_GPUS=8, CPUS=200, PREEMPTIBLE_CPUS=200))
    google.answers[PROJECT_PATH] = (200, quotas(GPUS_ALL_REGIONS=8, CPUS_ALL_REGIONS=limit))
    found = check(google, own(capacity=capacity))["quota CPUS_ALL_REGIONS"]
    assert found.verdict is verdict
    assert "vCPUs in all regions, 2 in use; t4-spot, managers may want 40" in found.said


@pytest.mark.parametrize("path", [CLUSTERS_PATH, machine_path(ZONES[0], MANAGER)])
def test_vcpus_of_managers_that_nobody_tells_spoil_the_judgement_of_no_pool(
    google: GoogleServer, path: str
) -> None:
    google.answers[REGION_PATH] = (200, quotas(NVIDIA_T4_GPUS=8, CPUS=32))
    google.answers[path] = DENIED
    found = check(google, own(capacity=contract.CAPACITY_ON_DEMAND))["quota CPUS"]
    assert (found.verdict, "t4-spot may want 32" in found.said) == (PASS, True)


@pytest.mark.parametrize(("limit", "verdict"), [(1250, PASS), (1249, WARN), (124, FAIL)])
def test_the_disks_of_all_nodes_are_judged_the_managers_too(
    google: GoogleServer, limit: int, verdict: Verdict
) -> None:
    told = (200, quotas(PREEMPTIBLE_NVIDIA_T4_GPUS=8, SSD_TOTAL_GB=limit))
    google.answers[REGION_PATH] = told
    pools = [node_pool(zone) for zone in ZONES]
    for each in pools:
        each["config"] |= {"diskSizeGb": 125, "diskType": "pd-balanced"}
    whole = cluster(*pools)
    whole["nodePools"][0] |= {
        "autoscaling": {"enabled": True, "totalMaxNodeCount": 4},
        "config": {"diskSizeGb": 50, "diskType": "pd-balanced"},
    }
    google.answers[CLUSTERS_PATH] = (200, {"clusters": [whole]})
    found = check(google)["quota SSD_TOTAL_GB"]
    assert found.verdict is verdict
    assert "managers, t4-spot may want 1250" in found.said


# --- Machines and node pools ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("types", "verdict"), [((TYPE,), FAIL), ((TYPE, "n1-highmem-4"), WARN)], ids=["none", "some"]
)
def test_a_machine_type_that_a_zone_does_not_sell_is_told(
    google: GoogleServer, types: tuple[str, ...], verdict: Verdict
) -> None:
    google.answers[machine_path(ZONES[1])] = NOT_FOUND
    for zone in ZONES:
        google.answers[machine_path(zone, "n1-highmem-4")] = (200, {"guestCpus": 4, "memoryMb": 1})
    found = check(google, own(instance_types=types))
    assert found[f"machine types of t4-spot, {ZONES[1]}"].verdict is verdict
    assert found[f"machine types of t4-spot, {ZONES[0]}"].verdict is PASS


KUBELET = {"spot": True, "labels": {"spotrain.dev/pool": "t4-spot"}}
STOCKOUT = {"code": "GCE_STOCKOUT", "message": "The zone does not have enough resources."}


@pytest.mark.parametrize(
    ("changed", "verdict", "said"),
    [
        pytest.param({"config": {}}, FAIL, "the cluster has none", id="none"),
        pytest.param({"locations": ["us-central1-f"]}, FAIL, "has none", id="in-another-zone"),
        pytest.param({"status": "ERROR", "conditions": [STOCKOUT]}, FAIL, "broken", id="broken"),
        pytest.param({"autoscaling": {}}, FAIL, "does not scale", id="of-fixed-size"),
        pytest.param({"config": KUBELET}, FAIL, "leave pods 15 s", id="gkes-default-notice"),
        pytest.param(
            {"config": {**KUBELET, "kubeletConfig": {"shutdownGracePeriodSeconds": 104}}},
            FAIL,
            "104 s when they are taken back, and jobs reckon with 105",
            id="a-second-too-short",
        ),
        pytest.param(
            {"config": {**KUBELET, "kubeletConfig": {"shutdownGracePeriodSeconds": 105}}},
            PASS,
            "may have 4 nodes",
            id="exactly-the-notice",
        ),
        pytest.param({"conditions": [STOCKOUT]}, WARN, "GCE_STOCKOUT: The zone", id="stockout"),
        pytest.param(
            {"conditions": [{"canonicalCode": "RESOURCE_EXHAUSTED"}]},
            WARN,
            "it gets no nodes: RESOURCE_EXHAUSTED.",
            id="a-problem-in-one-word",
        ),
        pytest.param(
            {"autoscaling": {"enabled": True, "maxNodeCount": 3}},
            WARN,
            "may have 3 nodes, the pool says 4",
            id="another-size",
        ),
    ],
)
def test_each_pool_has_a_node_pool_in_each_zone_with_the_notice_that_jobs_reckon_with(
    google: GoogleServer, changed: dict[str, Any], verdict: Verdict, said: str
) -> None:
    pools = [node_pool(ZONES[0]), node_pool(ZONES[1], **changed)]
    google.answers[CLUSTERS_PATH] = (200, {"clusters": [cluster(*pools)]})
    found = check(google)
    assert found[f"node pool of t4-spot, {ZONES[0]}"].verdict is PASS
    judged = found[f"node pool of t4-spot, {ZONES[1]}"]
    assert judged.verdict is verdict
    assert said in judged.said


def test_a_pool_that_costs_the_full_price_by_mistake_is_told(google: GoogleServer) -> None:
    paid = node_pool(ZONES[0])
    paid["config"] = {**paid["config"], "spot": False}
    clusters = [cluster(paid, node_pool(ZONES[1]))]
    google.answers[CLUSTERS_PATH] = (200, {"clusters": clusters})
    found = check(google)[f"node pool of t4-spot, {ZONES[0]}"]
    assert (found.verdict, "full price" in found.said) == (WARN, True)


@pytest.mark.parametrize("server", ["https://10.0.0.2", "https://10.0.0.2:443", SERVER])
def test_the_cluster_is_found_by_any_of_its_addresses(google: GoogleServer, server: str) -> None:
    assert f"node pool of t4-spot, {ZONES[0]}" in check(google, server=server)


@pytest.mark.parametrize("server", ["https://10.0.0.21", "https://110.0.0.2"])
def test_an_address_that_holds_another_is_another_cluster(
    google: GoogleServer, server: str
) -> None:
    found = check(google, server=server)["node pools"]
    assert f"answers at {server}" in found.said


def test_a_cluster_of_another_project_is_said_not_to_be_found(google: GoogleServer) -> None:
    found = check(google, server="https://127.0.0.1:6443")["node pools"]
    assert found.verdict is WARN
    assert "answers at https://127.0.0.1:6443" in found.said


# --- Images ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [IMAGE_PATH, TAG_PATH])
def test_an_image_that_is_not_in_its_registry_fails(google: GoogleServer, path: str) -> None:
    google.answers[path] = NOT_FOUND
    failed = [each for each in check(google).values() if each.verdict is FAIL]
    (found,) = failed
    assert "is not in its registry" in found.said


# --- Who may not ask ------------------------------------------------------------------------------
QUESTIONS = {
    REGION_PATH: "GPU quotas",
    PROJECT_PATH: "quotas of all regions",
    machine_path(ZONES[0]): f"machine types of t4-spot, {ZONES[0]}",
    CLUSTERS_PATH: "node pools",
    IMAGE_PATH: "not",
}


@pytest.mark.parametrize(
    ("answer", "said", "fix"),
    [
        pytest.param(DENIED, "may not ask (PERMISSION_DENIED)", "ask for", id="denied"),
        pytest.param(THROTTLED, "Google Cloud is busy", "in a minute", id="throttled"),
        pytest.param(BUSY, "Google Cloud is busy", "in a minute", id="throttled-for-long"),
        pytest.param(DISABLED, "SERVICE_DISABLED", "check", id="the-api-is-off"),
        pytest.param(BROKEN, "UNAVAILABLE", "check", id="broken"),
    ],
)
@pytest.mark.parametrize("path", QUESTIONS)
def test_a_question_that_is_refused_spoils_no_other(
    google: GoogleServer, path: str, answer: Answer, said: str, fix: str
) -> None:
    whole = check(google)
    google.answers[path] = answer
    found = check(google)
    open_question = found[QUESTIONS[path]]
    assert open_question.verdict is WARN
    assert said in open_question.said
    assert fix in open_question.fix
    answered = {name: each for name, each in found.items() if name != QUESTIONS[path]}
    assert answered.items() <= whole.items()


def test_whoever_is_nobody_is_told_that_alone(google: GoogleServer) -> None:
    google.answers[REGION_PATH] = UNAUTHENTICATED
    found = check(google)
    assert verdicts(found) == {"cloud credentials": FAIL}
    assert found["cloud credentials"].fix == "gcloud auth application-default login"
    assert google.paths == [REGION_PATH]


def test_without_credentials_nothing_is_asked() -> None:
    project = ask_project(
        Refused("NoCredentials", "Your default credentials were not found."),
        project=PROJECT,
        region=REGION,
        server=SERVER,
        markets=[(TYPE, ZONES[0])],
        images=[IMAGE],
    )
    (found,) = check_project(project, [own()])
    assert (found.check, found.verdict) == ("cloud credentials", FAIL)
