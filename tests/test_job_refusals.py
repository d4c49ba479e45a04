"""What is refused in an ElasticJob, by which path, and with which words."""

from typing import Any

import pytest

from spotrain.job import JobError, parse_job, worker_name
from tests.test_job import document, refusal

WORKER = "spec.replicaSpecs.Worker"


@pytest.mark.acceptance(8)
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
            {"successPolicy": "AllWorkers", "maxReplicas": 3},
            "spec.successPolicy",
            "needs minReplicas equal to maxReplicas, not 1 and 3",
            id="all-workers-of-an-elastic-job",
        ),
        pytest.param(
            {"disruptionExitCodes": [200, 3]},
            "spec.disruptionExitCodes[1]",
            "3 is below the least, 128",
            id="an-exit-code-of-the-script",
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


@pytest.mark.acceptance(8)
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


@pytest.mark.acceptance(2, 8)
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
