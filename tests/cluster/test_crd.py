"""What a real API server makes of the CRD: what it accepts, refuses, fills in and keeps frozen."""

import copy
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import yaml

from spotrain import contract
from spotrain.kinds import JOBS, Object
from tests.cluster.cluster import CRDS, REPOSITORY, Namespace
from tests.cluster.strict_api import StrictApi, strict_api
from tests.controller.builders import document
from tests.upstream import SAMPLES

pytestmark = pytest.mark.cluster

WORKER = "spec.replicaSpecs.Worker"
SUCCEEDED = {"conditions": [{"type": "Succeeded", "status": "True"}]}
POD = {"spec": {"containers": [{"name": "elasticjob-worker", "image": "img"}]}}


@pytest.fixture
async def api(namespace: Namespace) -> AsyncIterator[StrictApi]:
    async with strict_api(namespace) as made:
        yield made


@pytest.mark.acceptance(1)
async def test_the_crd_is_established_and_structural(namespace: Namespace) -> None:
    found = await namespace.kube.get(CRDS, "", f"{contract.PLURAL}.{contract.GROUP}")
    conditions = {c["type"]: c["status"] for c in found["status"]["conditions"]}
    assert found["apiVersion"] == "apiextensions.k8s.io/v1"
    assert conditions["Established"] == "True"
    assert conditions["NamesAccepted"] == "True"
    assert conditions.get("NonStructuralSchema", "False") == "False"


@pytest.mark.acceptance(1)
async def test_the_crd_applies_strictly_and_without_warnings(api: StrictApi) -> None:
    crd = yaml.safe_load((REPOSITORY / "k8s" / "crd.yaml").read_text())
    path = CRDS.path("", crd["metadata"]["name"])
    applied = await api.http.patch(
        path,
        params={"fieldManager": "kubectl", "force": "true", "fieldValidation": "Strict"},
        content=json.dumps(crd),
        headers={"Content-Type": "application/apply-patch+yaml"},
    )
    assert applied.is_success, applied.text
    assert applied.headers.get_list("warning") == []


@pytest.mark.acceptance(1)
@pytest.mark.parametrize("sample", SAMPLES)
async def test_jobs_in_upstreams_form_are_accepted_strictly_and_without_warnings(
    api: StrictApi, sample: Object
) -> None:
    answer = await api.create(sample)
    assert answer.message == ""
    assert answer.warnings == []
    template = answer.object["spec"]["replicaSpecs"]["Worker"]["template"]
    assert template == sample["spec"]["replicaSpecs"]["Worker"]["template"]


@pytest.mark.acceptance(6)
@pytest.mark.parametrize("spelling", ["flat", "RunPolicy", "runPolicy"])
async def test_every_spelling_of_the_run_policy_is_accepted(api: StrictApi, spelling: str) -> None:
    policy = {"cleanPodPolicy": "All", "ttlSecondsAfterFinished": 9, "backoffLimit": 2}
    spec = policy if spelling == "flat" else {spelling: policy}
    answer = await api.create(document(**spec))
    assert answer.message == ""


@pytest.mark.acceptance(7)
async def test_what_is_left_out_gets_its_default(api: StrictApi) -> None:
    job = document(worker={"template": POD})
    del job["spec"]["minReplicas"], job["spec"]["maxReplicas"]
    del job["spec"]["replicaSpecs"]["Worker"]["replicas"]
    stored = (await api.create(job)).object["spec"]
    worker = stored["replicaSpecs"]["Worker"]
    assert (worker["replicas"], worker["restartPolicy"]) == (1, "ExitCode")
    assert (stored["rdzvEndpoint"], stored["suspend"], stored["managedBy"]) == ("", False, "")
    assert (stored["successPolicy"], stored["podDisruptionBudget"]) == ("AnyWorker", False)
    assert stored["elastic"]["progressDeadlineSeconds"] == 900
    assert stored["elastic"]["firstStepDeadlineSeconds"] == 3600
    assert "minReplicasTimeoutSeconds" not in stored["elastic"]


@pytest.mark.acceptance(8)
@pytest.mark.parametrize(
    ("spec", "says"),
    [
        pytest.param({"minReplicas": 0}, "should be greater than or equal to 1", id="min-0"),
        pytest.param({"minReplicas": 4}, "lower the one or raise the other", id="min-above-max"),
        pytest.param({"worker": {"replicas": 4}}, "set it between them", id="too-many-replicas"),
        pytest.param({"minReplicas": 2, "worker": {"replicas": 1}}, "set it between", id="too-few"),
        pytest.param(
            {"worker": {"restartPolicy": "Sometimes"}},
            'supported values: "Always", "OnFailure", "Never", "ExitCode"',
            id="restart-policy",
        ),
        pytest.param(
            {"cleanPodPolicy": "Some"}, 'supported values: "All", "Running", "None"', id="clean"
        ),
        pytest.param({"successPolicy": "One"}, '"AnyWorker", "AllWorkers"', id="success"),
        pytest.param({"successPolicy": "AllWorkers"}, "set AnyWorker, or one size", id="elastic"),
        pytest.param({"ttlSecondsAfterFinished": -1}, "greater than or equal to 0", id="ttl"),
        pytest.param({"runPolicy": {"activeDeadlineSeconds": -1}}, "or equal to 1", id="deadline"),
        pytest.param({"backoffLimit": -1}, "greater than or equal to 0", id="backoff"),
        pytest.param({"disruptionExitCodes": [1]}, "greater than or equal to 128", id="code"),
        pytest.param({"elastic": {"minReplicasTimeoutSeconds": 0}}, "or equal to 1", id="patience"),
        pytest.param({"elastic": {"allowedReplicas": [4]}}, "no world can have", id="size"),
        pytest.param({"budget": {"maxDollars": 0}}, "should be greater than 0", id="dollars"),
        pytest.param(
            {"worker": {"template": {"spec": {"containers": []}}}},
            "should have at least 1 items",
            id="no-containers",
        ),
        pytest.param({"worker": {"template": None}}, "template: Required value", id="no-template"),
        pytest.param(
            {"cleanPodPolicy": "All", "runPolicy": {"cleanPodPolicy": "None"}},
            "keep one",
            id="two-clean-policies",
        ),
        pytest.param(
            {"backoffLimit": 1, "RunPolicy": {"backoffLimit": 2}}, "keep one", id="two-backoffs"
        ),
        pytest.param({"minReplica": 1}, 'unknown field "spec.minReplica"', id="unknown-field"),
    ],
)
async def test_a_spec_that_cannot_be_meant_is_refused_with_what_to_do(
    api: StrictApi, spec: dict[str, Any], says: str
) -> None:
    answer = await api.create(document(**spec))
    assert not answer.accepted
    assert says in answer.message


@pytest.mark.acceptance(8)
async def test_a_job_without_workers_is_refused(api: StrictApi) -> None:
    job = document()
    job["spec"]["replicaSpecs"] = {}
    assert f"{WORKER}: Required value" in (await api.create(job)).message


@pytest.mark.acceptance(2, 8)
@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param("a" * 54, "", id="fits"),
        pytest.param("a" * 55, "shorten it", id="too-long-with-the-index"),
        pytest.param("a.b", "rename it", id="no-host-name"),
    ],
)
async def test_a_name_that_gives_no_pod_name_is_refused(
    api: StrictApi, name: str, says: str
) -> None:
    job = document(maxReplicas=10)
    job["metadata"]["name"] = name
    assert says in (await api.create(job)).message


async def running(api: StrictApi, **spec: Any) -> None:
    assert (await api.create(document(**spec))).message == ""


def with_image(image: str) -> Object:
    spec: Any = copy.deepcopy(POD)
    spec["spec"]["containers"][0]["image"] = image
    return {"replicaSpecs": {"Worker": {"template": spec}}}


@pytest.mark.acceptance(8)
@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param(with_image("other"), "suspend the job first", id="template"),
        pytest.param(
            {"replicaSpecs": {"Worker": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}},
            "suspend the job first",
            id="a-part-of-the-template-that-no-schema-knows",
        ),
        pytest.param(
            {"replicaSpecs": {"Worker": {"restartPolicy": "Never"}}},
            "suspend the job first",
            id="restart-policy",
        ),
        pytest.param({"rdzvEndpoint": "etcd:2379"}, "suspend the job first", id="rendezvous"),
        pytest.param({"managedBy": "kueue.x-k8s.io/x"}, "suspend the job first", id="managed-by"),
        pytest.param({"minReplicas": 2}, "", id="limits-may-change"),
        pytest.param({"suspend": True}, "", id="and-so-may-suspend"),
    ],
)
async def test_what_running_workers_rest_on_cannot_change(
    api: StrictApi, change: Object, says: str
) -> None:
    await running(api)
    answer = await api.change("digits", change)
    assert answer.accepted is (says == "")
    assert says in answer.message


@pytest.mark.acceptance(8, 30)
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(with_image("other"), id="image"),
        pytest.param({"rdzvEndpoint": "etcd:2379"}, id="rendezvous"),
        pytest.param({"managedBy": "kueue.x-k8s.io/multikueue"}, id="managed-by"),
    ],
)
async def test_a_suspended_job_may_change(api: StrictApi, change: Object) -> None:
    await running(api, suspend=True)
    assert (await api.change("digits", change)).message == ""


@pytest.mark.acceptance(30)
async def test_a_queue_may_start_a_job_and_say_where_in_one_write(api: StrictApi) -> None:
    """As Kueue does: it takes the suspension off and fills in the flavour that it assigned."""
    await running(api, suspend=True)
    placed = {
        "nodeSelector": {"cloud.example/flavour": "spot"},
        "tolerations": [{"key": "spot", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "schedulingGates": [{"name": "example.com/topology"}],
    }
    spec = {"suspend": False, "replicaSpecs": {"Worker": {"template": {"spec": placed}}}}
    answer = await api.change("digits", spec, metadata={"labels": {"a": "b"}})
    assert answer.message == ""
    template = answer.object["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]
    assert {key: template[key] for key in placed} == placed


@pytest.mark.acceptance(8, 35)
@pytest.mark.parametrize(
    ("change", "accepted"),
    [
        pytest.param({"ttlSecondsAfterFinished": 60}, True, id="ttl"),
        pytest.param({"runPolicy": {"ttlSecondsAfterFinished": 60}}, True, id="kubeflows-ttl"),
        pytest.param({"RunPolicy": {"ttlSecondsAfterFinished": 60}}, True, id="upstreams-ttl"),
        pytest.param({"maxReplicas": 4}, False, id="max"),
        pytest.param({"suspend": True}, False, id="suspend"),
        pytest.param({"backoffLimit": 9}, False, id="backoff"),
        pytest.param({"runPolicy": {"backoffLimit": 9}}, False, id="kubeflows-backoff"),
        pytest.param(with_image("other"), False, id="template"),
        pytest.param({"elastic": {"growthDelaySeconds": 1}}, False, id="elastic"),
        pytest.param({"placement": {"gpu": "t4"}}, False, id="placement"),
        pytest.param({"podDisruptionBudget": True}, False, id="budget"),
    ],
)
async def test_a_job_that_has_ended_is_frozen_but_for_its_time_to_live(
    api: StrictApi, change: Object, accepted: bool
) -> None:
    await running(api)
    assert (await api.set_status("digits", SUCCEEDED)).message == ""
    answer = await api.change("digits", change)
    assert answer.accepted is accepted
    assert accepted or "create a new job" in answer.message


@pytest.mark.acceptance(25)
@pytest.mark.parametrize("replicas", [1, 3, 9])
async def test_scaling_is_never_refused(
    api: StrictApi, namespace: Namespace, replicas: int
) -> None:
    await running(api, minReplicas=2)
    assert (await api.scale("digits", replicas)).message == ""
    stored = await namespace.kube.get(JOBS, namespace.name, "digits")
    assert stored["spec"]["replicaSpecs"]["Worker"]["replicas"] == replicas
