"""ElasticJobs as people write them: what is understood, and with which defaults."""

import copy
from typing import Any

import pytest

from spotrain.job import JobError, parse_job, worker_container
from tests.upstream import IMAGENET

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


@pytest.mark.acceptance(7)
def test_what_is_left_out_has_upstreams_defaults() -> None:
    job = parse_job(document())
    assert (job.min_replicas, job.max_replicas, job.replicas) == (1, 1, 1)
    assert job.restart_policy == "ExitCode"
    assert (job.rdzv_endpoint, job.suspend, job.managed_by) == ("", False, "")
    assert (job.namespace, job.name, job.uid, job.generation) == ("jobs", "digits", "u", 3)


@pytest.mark.acceptance(7)
def test_min_and_max_default_to_the_replicas_wanted() -> None:
    job = parse_job(document(worker={"replicas": 4}))
    assert (job.min_replicas, job.max_replicas) == (4, 4)


@pytest.mark.acceptance(8, 25)
@pytest.mark.parametrize(
    ("spec", "sizes"),
    [
        pytest.param({"minReplicas": 1, "maxReplicas": 3}, (1, 3, 3), id="too-many"),
        pytest.param({"minReplicas": 10, "maxReplicas": 12}, (10, 12, 10), id="too-few"),
        pytest.param({"maxReplicas": 3}, (3, 3, 3), id="min-left-out"),
        pytest.param({"minReplicas": 10}, (10, 10, 10), id="max-left-out"),
        pytest.param({}, (9, 9, 9), id="both-left-out"),
    ],
)
def test_a_number_of_workers_outside_the_limits_counts_as_the_nearer_one(
    spec: dict[str, Any], sizes: tuple[int, int, int]
) -> None:
    job = parse_job(document(**spec, worker={"replicas": 9}))
    assert (job.min_replicas, job.max_replicas, job.replicas) == sizes
    assert job.asked_replicas == 9


def test_our_additions_have_the_documented_defaults() -> None:
    job = parse_job(document())
    assert (job.placement.gpu, job.placement.pools) == (None, ())
    assert (job.placement.capacity, job.placement.zone) == ("spotThenOnDemand", "same")
    assert job.placement.move_after_seconds == 600
    assert job.elastic.allowed_replicas == ()
    assert job.elastic.growth_delay_seconds == 30
    assert job.elastic.progress_deadline_seconds == 900
    assert job.elastic.min_replicas_timeout_seconds is None
    assert job.budget.max_dollars is None
    assert (job.success_policy, job.pod_disruption_budget) == ("AnyWorker", False)
    assert job.disruption_exit_codes == {130, 137, 138, 143}


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


@pytest.mark.acceptance(6)
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


@pytest.mark.acceptance(1)
def test_an_old_job_of_upstreams_form_is_understood() -> None:
    job = parse_job(IMAGENET)
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


@pytest.mark.acceptance(4)
def test_the_container_that_trains_is_upstreams_or_the_first() -> None:
    def named(*names: str) -> dict[str, Any]:
        return {"spec": {"containers": [{"name": name} for name in names]}}

    assert worker_container(named("log", "elasticjob-worker")) == 1
    assert worker_container(named("train", "log")) == 0
