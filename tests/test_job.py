"""ElasticJobs and pools as people write them: what is understood, and what is refused how."""

import contextlib
import copy
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from spotrain.controller.model import CLUSTER_COORDINATOR
from spotrain.controller.pod import build_pod
from spotrain.job import (
    JobError,
    PoolsError,
    parse_job,
    parse_pools,
    worker_container,
    worker_name,
)

TEMPLATE: dict[str, Any] = {"spec": {"containers": [{"name": "elasticjob-worker", "image": "i"}]}}


def document(**spec: Any) -> dict[str, Any]:
    worker = {"template": TEMPLATE, **spec.pop("worker", {})}
    return {
        "apiVersion": "elastic.pytorch.org/v1alpha1",
        "kind": "ElasticJob",
        "metadata": {"name": "digits", "namespace": "jobs", "uid": "u", "generation": 3},
        "spec": {**spec, "replicaSpecs": {"Worker": worker}},
    }


def refusal(written: Any) -> dict[str, str]:
    with pytest.raises(JobError) as caught:
        parse_job(written)
    return dict(caught.value.problems)


WORKER = "spec.replicaSpecs.Worker"


def test_what_is_left_out_has_upstreams_defaults() -> None:
    job = parse_job(document())
    assert (job.min_replicas, job.max_replicas, job.replicas) == (1, 1, 1)
    assert job.restart_policy == "ExitCode"
    assert (job.rdzv_endpoint, job.suspend, job.managed_by) == ("", False, "")
    assert (job.namespace, job.name, job.uid, job.generation) == ("jobs", "digits", "u", 3)


def test_min_and_max_default_to_the_replicas_wanted() -> None:
    job = parse_job(document(worker={"replicas": 4}))
    assert (job.min_replicas, job.max_replicas) == (4, 4)


def test_our_additions_have_the_documented_defaults() -> None:
    job = parse_job(document())
    assert (job.placement.gpu, job.placement.pools) == (None, ())
    assert (job.placement.capacity, job.placement.zone) == ("spotThenOnDemand", "same")
    assert job.placement.move_after_seconds == 600
    assert job.elastic.allowed_replicas == ()
    assert job.elastic.growth_delay_seconds == 30
    assert job.elastic.progress_deadline_seconds == 900
    assert job.budget.max_dollars is None


def test_the_run_policy_has_defaults_that_end_a_job_in_time() -> None:
    policy = parse_job(document()).run_policy
    assert policy.clean_pod_policy == "None"
    assert policy.backoff_limit == 6
    assert policy.ttl_seconds_after_finished is None
    assert policy.active_deadline_seconds is None


def test_a_job_without_a_namespace_lives_in_default() -> None:
    written = document()
    del written["metadata"]["namespace"]
    assert parse_job(written).namespace == "default"


def test_the_template_is_the_one_that_was_written_nulls_and_all() -> None:
    template = {"metadata": {"creationTimestamp": None}, "spec": {**TEMPLATE["spec"], "x": [None]}}
    written = document(worker={"template": template})
    before = copy.deepcopy(written)
    assert parse_job(written).template == template
    assert written == before


@pytest.mark.parametrize(
    "spelling",
    [
        pytest.param(lambda policy: policy, id="flat-as-documented"),
        pytest.param(lambda policy: {"RunPolicy": policy}, id="as-upstream-read-it"),
        pytest.param(lambda policy: {"runPolicy": policy}, id="as-kubeflow-spells-it"),
        pytest.param(lambda policy: {**policy, "RunPolicy": policy}, id="twice-but-agreeing"),
    ],
)
def test_every_spelling_of_the_run_policy_means_the_same(spelling: Any) -> None:
    policy = {
        "cleanPodPolicy": "All",
        "ttlSecondsAfterFinished": 0,
        "activeDeadlineSeconds": 60,
        "backoffLimit": 2,
        "schedulingPolicy": {"minAvailable": 1},
    }
    parsed = parse_job(document(**spelling(policy))).run_policy
    assert parsed.clean_pod_policy == "All"
    assert (parsed.ttl_seconds_after_finished, parsed.active_deadline_seconds) == (0, 60)
    assert parsed.backoff_limit == 2


def test_spellings_may_complete_each_other() -> None:
    parsed = parse_job(document(backoffLimit=1, RunPolicy={"cleanPodPolicy": "All"})).run_policy
    assert (parsed.backoff_limit, parsed.clean_pod_policy) == (1, "All")


def test_spellings_that_contradict_each_other_are_refused() -> None:
    said = refusal(document(cleanPodPolicy="All", runPolicy={"cleanPodPolicy": "None"}))
    assert said == {
        "spec.cleanPodPolicy": "spec.cleanPodPolicy is 'All', spec.runPolicy.cleanPodPolicy is "
        "'None': spellings of one field; keep one of them."
    }


UPSTREAM_IMAGENET = """
apiVersion: elastic.pytorch.org/v1alpha1
kind: ElasticJob
metadata: {name: imagenet, namespace: elastic-job}
spec:
  rdzvEndpoint: "etcd-service:2379"
  minReplicas: 1
  maxReplicas: 2
  replicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: ExitCode
      template:
        apiVersion: v1
        kind: Pod
        spec:
          containers:
            - name: elasticjob-worker
              image: torchelastic/examples:0.2.0
              args: ["--nproc_per_node=1", "/workspace/main.py"]
              resources: {limits: {nvidia.com/gpu: 1}}
"""


def test_an_old_job_of_upstreams_form_is_understood() -> None:
    job = parse_job(yaml.safe_load(UPSTREAM_IMAGENET))
    assert job.rdzv_endpoint == "etcd-service:2379"
    assert (job.min_replicas, job.max_replicas, job.replicas) == (1, 2, 2)
    assert job.template["kind"] == "Pod"
    assert job.gpus_per_worker == 1


def test_what_the_api_server_adds_does_not_disturb() -> None:
    written = document()
    written["metadata"] |= {
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [{"manager": "kubectl"}],
        "labels": {"team": "vision"},
    }
    written["status"] = {"conditions": None}
    assert parse_job(written).labels == {"team": "vision"}


@pytest.mark.parametrize(
    ("spec", "path", "says"),
    [
        pytest.param(
            {"minReplica": 2}, "spec.minReplica", "did you mean 'minReplicas'?", id="typo"
        ),
        pytest.param(
            {"minreplicas": 2}, "spec.minreplicas", "did you mean 'minReplicas'?", id="case"
        ),
        pytest.param(
            {"gpu": "t4"}, "spec.gpu", "did you mean 'spec.placement.gpu'?", id="wrong-level"
        ),
        pytest.param(
            {"placement": {"xyz": 1}},
            "spec.placement.xyz",
            "known here: capacity, gpu, moveAfterSeconds, pools, zone.",
            id="no-idea",
        ),
        pytest.param(
            {"min_replicas": 2}, "spec.min_replicas", "'minReplicas'", id="pythons-spelling"
        ),
        pytest.param({"minReplicas": 0}, "spec.minReplicas", "0 is below the least, 1", id="min-0"),
        pytest.param(
            {"minReplicas": "2"}, "spec.minReplicas", "'2' is text, not a whole number", id="text"
        ),
        pytest.param({"minReplicas": True}, "spec.minReplicas", "True is", id="bool"),
        pytest.param(
            {"minReplicas": 3, "maxReplicas": 2, "worker": {"replicas": 2}},
            "spec.minReplicas",
            "3 is above maxReplicas, 2; lower it or raise spec.maxReplicas.",
            id="min-above-max",
        ),
        pytest.param(
            {"minReplicas": 1, "maxReplicas": 3, "worker": {"replicas": 9}},
            f"{WORKER}.replicas",
            "9 lies outside minReplicas 1 to maxReplicas 3",
            id="replicas-above-max",
        ),
        pytest.param(
            {"minReplicas": 2, "maxReplicas": 3},
            f"{WORKER}.replicas",
            "1 (the default) lies outside minReplicas 2 to maxReplicas 3",
            id="default-replicas-below-min",
        ),
        pytest.param({"maxReplicas": 1001}, "spec.maxReplicas", "above the most, 1000", id="huge"),
        pytest.param(
            {"worker": {"restartPolicy": "Sometimes"}},
            f"{WORKER}.restartPolicy",
            "'Always', 'OnFailure', 'Never' or 'ExitCode'",
            id="unknown-restart-policy",
        ),
        pytest.param(
            {"cleanPodPolicy": "Some"}, "spec.cleanPodPolicy", "'All', 'Running' or", id="clean"
        ),
        pytest.param(
            {"placement": {"capacity": "Spot"}},
            "spec.placement.capacity",
            "'spotThenOnDemand', 'spot' or 'onDemand'",
            id="unknown-capacity",
        ),
        pytest.param(
            {"placement": {"gpu": "T4"}}, "spec.placement.gpu", "lower-case", id="upper-case-gpu"
        ),
        pytest.param(
            {"ttlSecondsAfterFinished": -1}, "spec.ttlSecondsAfterFinished", "-1", id="ttl"
        ),
        pytest.param({"backoffLimit": -1}, "spec.backoffLimit", "-1 is below", id="backoff"),
        pytest.param(
            {"runPolicy": {"activeDeadlineSeconds": -5}},
            "spec.runPolicy.activeDeadlineSeconds",
            "-5 is below",
            id="deadline",
        ),
        pytest.param(
            {"elastic": {"growthDelaySeconds": -1}}, "spec.elastic.growthDelaySeconds", "-1", id="d"
        ),
        pytest.param(
            {"maxReplicas": 4, "elastic": {"allowedReplicas": [1, 8]}},
            "spec.elastic.allowedReplicas[1]",
            "8 lies outside",
            id="allowed-size-out-of-range",
        ),
        pytest.param(
            {"budget": {"maxDollars": 0}}, "spec.budget.maxDollars", "above 0", id="no-dollars"
        ),
        pytest.param({"worker": {"template": None}}, f"{WORKER}.template", "is missing", id="none"),
        pytest.param(
            {"worker": {"template": "pod"}},
            f"{WORKER}.template",
            "not a mapping",
            id="template-text",
        ),
        pytest.param(
            {"worker": {"template": {}}}, f"{WORKER}.template.spec", "is missing", id="no-pod-spec"
        ),
        pytest.param(
            {"worker": {"template": {"spec": {"containers": []}}}},
            f"{WORKER}.template.spec.containers",
            "add one",
            id="no-containers",
        ),
        pytest.param(
            {"worker": {"template": {"spec": {"containers": [{"image": "i"}]}}}},
            f"{WORKER}.template.spec.containers[0].name",
            "is missing",
            id="nameless-container",
        ),
        pytest.param(
            {
                "worker": {
                    "template": {
                        "spec": {
                            "containers": [
                                {"name": "w", "resources": {"limits": {"nvidia.com/gpu": "half"}}}
                            ]
                        }
                    }
                }
            },
            f"{WORKER}.template.spec.containers[0].resources.limits.nvidia.com/gpu",
            "no whole number of GPUs",
            id="half-a-gpu",
        ),
        pytest.param(
            {"worker": {"template": {"spec": {"containers": [{"name": "w", "env": {"A": 1}}]}}}},
            f"{WORKER}.template.spec.containers[0].env",
            "is a mapping, not a list",
            id="env-as-a-mapping",
        ),
    ],
)
def test_a_wrong_field_is_refused_by_its_path(spec: dict[str, Any], path: str, says: str) -> None:
    said = refusal(document(**spec))
    assert says in said[path]


@pytest.mark.parametrize(
    ("change", "path", "says"),
    [
        pytest.param(lambda d: d.update(apiVersion="v1"), "apiVersion", "elastic.", id="version"),
        pytest.param(lambda d: d.update(kind="Job"), "kind", "'ElasticJob'", id="kind"),
        pytest.param(lambda d: d.pop("spec"), "spec", "is missing", id="no-spec"),
        pytest.param(lambda d: d.pop("metadata"), "metadata", "is missing", id="no-metadata"),
        pytest.param(
            lambda d: d["metadata"].update(name="Digits"), "metadata.name", "lower-case", id="name"
        ),
        pytest.param(
            lambda d: d["spec"].update(replicaSpecs={"worker": {}}),
            "spec.replicaSpecs.worker",
            "did you mean 'Worker'?",
            id="lower-case-worker",
        ),
        pytest.param(
            lambda d: d["spec"].update(replicaSpecs={}),
            "spec.replicaSpecs.Worker",
            "is missing",
            id="no-worker",
        ),
        pytest.param(
            lambda d: d["spec"]["replicaSpecs"].update(Etcd={}),
            "spec.replicaSpecs.Etcd",
            "known here: Worker.",
            id="another-replica-type",
        ),
    ],
)
def test_a_wrong_document_is_refused_by_its_path(change: Any, path: str, says: str) -> None:
    written = document()
    change(written)
    assert says in refusal(written)[path]


@pytest.mark.parametrize(
    ("length", "most", "fits"),
    [(54, 10, True), (55, 10, False), (53, 11, True), (54, 11, False)],
)
def test_the_longest_name_is_the_one_whose_last_pod_fits(
    length: int, most: int, fits: bool
) -> None:
    written = document(maxReplicas=most)
    written["metadata"]["name"] = "a" * length
    if fits:
        assert len(worker_name(parse_job(written).name, most - 1)) <= 63
    else:
        assert "shorten it by 1" in refusal(written)["metadata.name"]


def test_all_faults_are_told_at_once_and_each_line_begins_with_a_path() -> None:
    with pytest.raises(JobError) as caught:
        parse_job(document(minReplicas=0, suspend="yes", cleanPodPolicy="Some"))
    lines = str(caught.value).splitlines()
    assert lines[0] == "the ElasticJob cannot be used:"
    assert [line.split(":")[0].strip() for line in lines[1:]] == [
        "spec.cleanPodPolicy",
        "spec.minReplicas",
        "spec.suspend",
    ]


@pytest.mark.parametrize("written", [None, [], "text", 3])
def test_what_is_no_mapping_is_refused(written: Any) -> None:
    assert "no mapping" in refusal(written)[""]


def test_a_long_value_is_quoted_in_part() -> None:
    said = refusal(document(suspend={"key": "x" * 1000}))["spec.suspend"]
    assert len(said) < 250


def test_the_container_that_trains_is_upstreams_or_the_first() -> None:
    def named(*names: str) -> dict[str, Any]:
        return {"spec": {"containers": [{"name": name} for name in names]}}

    assert worker_container(named("log", "elasticjob-worker")) == 1
    assert worker_container(named("train", "log")) == 0


scalars = st.none() | st.booleans() | st.integers(-3, 10**10) | st.floats() | st.text(max_size=3)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else ()
    deeper = enumerate(value) if isinstance(value, list) else below
    return [path, *(found for key, item in deeper for found in places(item, (*path, key)))]


FULL = document(
    rdzvEndpoint="etcd:1",
    minReplicas=1,
    maxReplicas=3,
    placement={"gpu": "t4", "pools": ["p"]},
    elastic={"allowedReplicas": [1]},
    budget={"maxDollars": 1.5},
    backoffLimit=1,
    runPolicy={"cleanPodPolicy": "All"},
    worker={
        "replicas": 2,
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {
                "containers": [
                    {
                        "name": "w",
                        "env": [{"name": "A", "value": "1"}],
                        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                        "resources": {"limits": {"nvidia.com/gpu": 1, "memory": "1Gi"}},
                    }
                ],
                "tolerations": [{"key": "k"}],
                "nodeSelector": {"disk": "ssd"},
                "terminationGracePeriodSeconds": 9,
            },
        },
    },
)


@given(place=st.sampled_from(places(FULL)), value=anything)
def test_no_slip_anywhere_is_more_than_a_refusal(place: tuple[Any, ...], value: Any) -> None:
    """Whatever stands wherever: either a pod can be built from it, or it is refused."""
    written: Any = {"root": copy.deepcopy(FULL)}
    at: Any = written
    path = ("root", *place)
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    with contextlib.suppress(JobError):
        job = parse_job(written["root"])
        assert build_pod(job, 0, None, CLUSTER_COORDINATOR)["kind"] == "Pod"


POOL = """
- name: t4-spot
  gpu: t4
  gpusPerNode: 1
  capacity: spot
  zones: [us-east-1a]
  instanceTypes: [g4dn.xlarge]
  maxNodes: 4
  noticeSeconds: 90
  spotUsdPerHour: 0.184
  onDemandUsdPerHour: 0.526
"""


def test_pools_are_read_with_their_prices() -> None:
    (pool,) = parse_pools(POOL)
    assert (pool.name, pool.gpu, pool.gpus_per_node, pool.capacity) == ("t4-spot", "t4", 1, "spot")
    assert (pool.zones, pool.instance_types) == (("us-east-1a",), ("g4dn.xlarge",))
    assert (pool.max_nodes, pool.notice_seconds) == (4, 90)
    assert pool.usd_per_hour == 0.184


@pytest.mark.parametrize(
    ("change", "price"),
    [
        pytest.param(("capacity: spot", "capacity: on-demand"), 0.526, id="on-demand-pays-in-full"),
        pytest.param(("  spotUsdPerHour: 0.184\n", ""), 0.526, id="no-known-spot-price"),
        pytest.param(("gpusPerNode: 1", "gpusPerNode: 4"), 0.184, id="a-node-not-a-gpu"),
    ],
)
def test_the_price_is_that_of_the_capacity_bought(change: tuple[str, str], price: float) -> None:
    (pool,) = parse_pools(POOL.replace(*change))
    assert pool.usd_per_hour == price


@pytest.mark.parametrize(
    ("text", "path", "says"),
    [
        pytest.param("{", "", "is no YAML", id="no-yaml"),
        pytest.param("a: 1", "pools", "is a mapping, not a list", id="no-list"),
        pytest.param(POOL + POOL, "pools", "named twice", id="two-of-one-name"),
        pytest.param(
            POOL.replace("capacity: spot", "capacity: Spot"),
            "pools[0].capacity",
            "'spot' or 'on-demand'",
            id="capacity",
        ),
        pytest.param(
            POOL.replace("[us-east-1a]", "[]"), "pools[0].zones", "add one", id="no-zones"
        ),
        pytest.param(
            POOL.replace("maxNodes", "max_nodes"),
            "pools[0].max_nodes",
            "did you mean 'maxNodes'?",
            id="pythons-spelling",
        ),
    ],
)
def test_wrong_pools_are_refused_by_their_path(text: str, path: str, says: str) -> None:
    with pytest.raises(PoolsError) as caught:
        parse_pools(text)
    assert says in dict(caught.value.problems)[path]


def test_no_pools_are_no_fault() -> None:
    assert parse_pools("") == ()
