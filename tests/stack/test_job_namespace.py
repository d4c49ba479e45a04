"""What holds for every pod in the job namespace: quotas, priorities, defaults, pod security."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from components.cloud import Pool
from components.manifest import read_manifest
from components.platform import job_quota
from spotrain import contract
from stacks.recorder import Recording
from tests.stack.platform_parts import job_namespace, pool

QUOTA = "kubernetes:core/v1:ResourceQuota"
pools = st.lists(
    st.builds(
        pool,
        gpus_per_node=st.integers(0, 16),
        max_nodes=st.integers(1, 1000),
        zones=st.lists(st.sampled_from("abcdef"), min_size=1, unique=True).map(tuple),
    ),
    max_size=6,
)
CLASSES = (contract.PRIORITY_LOW, contract.PRIORITY_NORMAL, contract.PRIORITY_HIGH)


def hard(name: str, given_pools: list[Pool], gpu_quota: int | None = None) -> dict[str, int]:
    return dict(job_quota.quotas(given_pools, gpu_quota)[name].hard)


@given(given_pools=pools)
def test_each_class_may_ask_for_every_gpu_that_the_pools_can_have(given_pools: list[Pool]) -> None:
    nodes = [(p, zone, i) for p in given_pools for zone in p.zones for i in range(p.max_nodes)]
    for name in CLASSES:
        assert hard(name, given_pools)["requests.nvidia.com/gpu"] == sum(
            p.gpus_per_node for p, _, _ in nodes
        )


@given(given_pools=pools)
def test_no_quota_keeps_a_node_empty(given_pools: list[Pool]) -> None:
    """One worker a GPU, or one a node without: every place can be filled, and filled anew."""
    workers = sum(max(p.gpus_per_node, 1) * p.max_nodes * len(p.zones) for p in given_pools)
    for name in CLASSES:
        assert hard(name, given_pools)["pods"] >= 2 * workers
    assert hard("spotrain-jobs", given_pools)["count/elasticjobs.elastic.pytorch.org"] > workers


@given(given_pools=pools, gpu_quota=st.one_of(st.none(), st.integers(0, 10_000)))
def test_a_quota_of_the_stack_file_limits_all_classes_together(
    given_pools: list[Pool], gpu_quota: int | None
) -> None:
    total = hard("spotrain-jobs", given_pools, gpu_quota)
    assert total.get("requests.nvidia.com/gpu") == gpu_quota


def test_a_cluster_without_gpus_forbids_no_pod() -> None:
    amounts = hard(contract.PRIORITY_NORMAL, [pool(gpus_per_node=0, max_nodes=3)])
    assert amounts == {"requests.nvidia.com/gpu": 0, "pods": 50}


def test_no_quota_asks_old_job_files_for_more_than_they_say() -> None:
    """One over cpu or memory would refuse every pod that does not name both."""
    named = {name for q in job_quota.quotas([pool()], 4).values() for name in q.hard}
    assert named == {
        "pods",
        "requests.nvidia.com/gpu",
        "count/elasticjobs.elastic.pytorch.org",
    }


def classes_limited_by(quota: dict[str, Any], names: list[str | None]) -> list[str | None]:
    """Which of the classes a quota is about, None being a pod that names none."""
    ((scope),) = quota["spec"]["scopeSelector"]["matchExpressions"]
    assert scope["scopeName"] == "PriorityClass"
    return [name for name in names if (name in scope["values"]) is (scope["operator"] == "In")]


def test_every_pod_is_in_the_quota_of_its_class_and_of_no_other() -> None:
    quotas = {r.inputs["metadata"]["name"]: r.inputs for r in job_namespace().of_type(QUOTA)}
    names: list[str | None] = [*CLASSES, "somebody-elses", None]
    assert {name: classes_limited_by(quotas[name], names) for name in CLASSES} == {
        "spotrain-low": ["spotrain-low"],
        "spotrain-normal": ["spotrain-normal", "somebody-elses", None],
        "spotrain-high": ["spotrain-high"],
    }


def test_no_pod_of_a_job_has_a_class_of_the_system() -> None:
    (quota,) = (
        r.inputs
        for r in job_namespace().of_type(QUOTA)
        if r.inputs["metadata"]["name"] == "spotrain-system-classes"
    )
    assert quota["spec"]["hard"] == {"pods": "0"}
    system = ["system-node-critical", "system-cluster-critical"]
    assert classes_limited_by(quota, [*CLASSES, *system, None]) == system


# --- Priorities, defaults and pod security ------------------------------------------------------
def test_a_more_important_job_takes_a_lesser_ones_place_and_no_class_is_the_default() -> None:
    classes = {d["metadata"]["name"]: d for d in read_manifest("priority-classes.yaml")}
    assert tuple(classes) == CLASSES
    low, normal, high = classes.values()
    assert low["value"] < normal["value"] == 0 < high["value"]  # 0: a pod without a class
    assert low["value"] >= -10  # below, cluster-autoscaler adds no node for a pod
    assert not [d for d in classes.values() if d.get("globalDefault")]
    assert low["preemptionPolicy"] == "Never"
    assert {normal["preemptionPolicy"], high["preemptionPolicy"]} == {"PreemptLowerPriority"}


def test_a_container_that_says_nothing_gets_requests_and_no_limit() -> None:
    (resource,) = job_namespace().of_type("kubernetes:core/v1:LimitRange")
    (item,) = resource.inputs["spec"]["limits"]
    assert item.keys() == {"type", "defaultRequest"}
    assert item["type"] == "Container"
    assert item["defaultRequest"].keys() == {"cpu", "memory"}


def test_the_namespace_refuses_what_baseline_refuses_and_warns_of_what_restricted_would() -> None:
    (namespace,) = job_namespace().of_type("kubernetes:core/v1:Namespace")
    labels = namespace.inputs["metadata"]["labels"]
    prefix = "pod-security.kubernetes.io"
    assert [labels[f"{prefix}/{mode}"] for mode in ("enforce", "warn", "audit")] == [
        "baseline",
        "restricted",
        "restricted",
    ]


def test_everything_stands_before_the_first_worker(recording: Recording) -> None:
    (controller,) = (r for r in recording.resources if r.name == "elastic-jobs-controller")
    needed = set(controller.depends_on)
    missing = [
        r.name
        for r in recording.resources
        if r.custom and r.name.startswith("jobs-") and r.urn not in needed
    ]
    assert missing == []
