"""The controller as a process, against a real API server."""

import asyncio

import httpx2
import pytest

from spotrain import contract, kinds
from spotrain.controller.kube import FIELD_MANAGER
from spotrain.kinds import Object
from tests.cluster.cluster import ControllerProcess, Namespace, until
from tests.cluster.server import ADMIN_TOKEN
from tests.cluster.strict_api import strict_api
from tests.controller.builders import document

pytestmark = pytest.mark.cluster

READY = [{"type": "Ready", "status": "True"}]


def names(pods: list[Object]) -> set[str]:
    return {pod["metadata"]["name"] for pod in pods}


def uids(pods: list[Object]) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods}


def condition(job: Object, kind: str) -> Object:
    found = (job.get("status") or {}).get("conditions") or []
    return next((c for c in found if c["type"] == kind), {})


@pytest.mark.acceptance(2, 36)
async def test_the_pods_of_a_job_are_created_once_and_are_its_own(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    job = await namespace.submit("digits", 3)
    await controller.start()

    pods = await namespace.until_pods(lambda found: len(found) == 3)

    assert names(pods) == {"digits-worker-0", "digits-worker-1", "digits-worker-2"}
    for pod in pods:
        metadata = pod["metadata"]
        assert metadata["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
        assert metadata["ownerReferences"][0]["controller"] is True
        assert "finalizers" not in metadata
        assert metadata["labels"]["group-name"] == contract.GROUP
        assert metadata["labels"]["job-name"] == "digits"
        environment = {v["name"]: v.get("value") for v in pod["spec"]["containers"][0]["env"]}
        key = f"{namespace.name}/digits/{job['metadata']['uid']}"
        assert environment[contract.ENV_JOB] == key
        assert environment["PET_NNODES"] == "3:3"
    policies, _ = await namespace.kube.list_all(kinds.NETWORK_POLICIES, namespace.name)
    assert names(policies) == {"digits"}


@pytest.mark.acceptance(11)
async def test_a_job_says_that_it_runs_once_enough_workers_are_ready(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    await namespace.submit("digits", 2)
    await controller.start()
    starting = await namespace.until_job(lambda job: bool(condition(job, "Running")))
    assert condition(starting, "Created")["status"] == "True"
    assert condition(starting, "Running")["status"] == "False"

    for pod in await namespace.until_pods(lambda found: len(found) == 2):
        await namespace.set_pod_status(pod, phase="Running", conditions=READY)

    running = await namespace.until_job(lambda job: condition(job, "Running")["status"] == "True")
    assert running["status"]["replicaStatuses"]["Worker"]["ready"] == 2
    assert running["status"]["state"] == "Running"


async def test_a_pod_that_was_deleted_is_replaced_and_the_others_stay(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    await namespace.submit("digits", 3)
    await controller.start()
    pods = await namespace.until_pods(lambda found: len(found) == 3)
    lost = min(pods, key=lambda pod: str(pod["metadata"]["name"]))

    await namespace.delete_pod(lost)

    def is_replaced(found: list[Object]) -> bool:
        return len(found) == 3 and lost["metadata"]["uid"] not in uids(found)

    replaced = await namespace.until_pods(is_replaced)
    assert names(replaced) == names(pods)
    assert len(uids(pods) & uids(replaced)) == 2


@pytest.mark.acceptance(12)
async def test_a_pod_that_exits_with_success_ends_the_job_and_tells_it_once(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    await namespace.submit("digits", 1)
    await controller.start()
    (pod,) = await namespace.until_pods(lambda found: len(found) == 1)

    await namespace.set_pod_status(pod, phase="Succeeded")

    ended = await namespace.until_job(lambda job: condition(job, "Succeeded") != {})
    assert ended["status"]["completionTime"]
    events = await until(namespace.kube, kinds.EVENTS, namespace.name, bool)
    assert [(event["reason"], event["count"]) for event in events] == [("ElasticJobSucceeded", 1)]


@pytest.mark.acceptance(36, 37)
async def test_a_job_that_is_deleted_gets_no_more_pods(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    job = await namespace.submit("digits", 2)
    await controller.start()
    pods = await namespace.until_pods(lambda found: len(found) == 2)

    await namespace.kube.delete(kinds.JOBS, namespace.name, "digits", uid=job["metadata"]["uid"])
    again = await namespace.submit("digits", 1)
    for pod in pods:
        await namespace.delete_pod(pod)

    def is_new(found: list[Object]) -> bool:
        owners = [pod["metadata"]["ownerReferences"][0]["uid"] for pod in found]
        return owners == [again["metadata"]["uid"]]

    await namespace.until_pods(is_new)
    # Without a garbage collector the old job's policy is still there; it protects the new one now.
    ((policy, *_), _) = await namespace.kube.list_all(kinds.NETWORK_POLICIES, namespace.name)
    owners = [owner["uid"] for owner in policy["metadata"]["ownerReferences"]]
    assert owners == [again["metadata"]["uid"]]


@pytest.mark.acceptance(7)
async def test_a_job_that_cannot_be_used_says_so_and_others_go_on(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    template = {"spec": {"containers": [{"name": "x", "env": [{"value": "nameless"}]}]}}
    body = {
        "apiVersion": contract.API_VERSION,
        "kind": contract.KIND,
        "metadata": {"name": "broken", "namespace": namespace.name},
        "spec": {"replicaSpecs": {"Worker": {"replicas": 1, "template": template}}},
    }
    await namespace.kube.create(kinds.JOBS, namespace.name, body)
    await controller.start()

    refused = await namespace.until_job(lambda job: condition(job, "Running") != {})
    assert condition(refused, "Running")["reason"] == "InvalidSpec"
    await namespace.submit("digits", 1)
    assert names(await namespace.until_pods(lambda found: len(found) == 1)) == {"digits-worker-0"}


@pytest.mark.acceptance(35)
async def test_a_job_that_has_ended_is_deleted_when_its_time_to_live_is_over(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    await namespace.submit("digits", 1, ttlSecondsAfterFinished=0)
    await controller.start()
    (pod,) = await namespace.until_pods(lambda found: len(found) == 1)
    await namespace.set_pod_status(pod, phase="Succeeded")
    await until(namespace.kube, kinds.JOBS, namespace.name, lambda jobs: not jobs)


@pytest.mark.acceptance(29)
async def test_a_suspended_job_gives_its_pods_back_and_gets_new_ones_when_it_goes_on(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    await namespace.submit("digits", 2)
    await controller.start()
    before = await namespace.until_pods(lambda found: len(found) == 2)

    await namespace.kube.patch(kinds.JOBS, namespace.name, "digits", {"spec": {"suspend": True}})
    await namespace.until_pods(lambda found: not found)
    suspended = await namespace.until_job(lambda job: condition(job, "Suspended") != {})
    assert "startTime" not in suspended["status"]

    await namespace.kube.patch(kinds.JOBS, namespace.name, "digits", {"spec": {"suspend": False}})
    after = await namespace.until_pods(lambda found: len(found) == 2)
    assert not uids(before) & uids(after)


async def test_the_controller_leaves_at_sigterm_and_says_until_then_that_it_is_ready(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    await controller.start()
    await controller.until_serving()
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{controller.probes}") as http:
        assert (await http.get("/healthz")).status_code == 200
        assert (await http.get("/readyz")).status_code == 200
    assert controller.process
    controller.process.terminate()
    async with asyncio.timeout(10):
        assert await controller.process.wait() == 0


async def test_without_a_namespace_of_its_own_the_controller_runs_the_jobs_of_all(
    namespace: Namespace,
) -> None:
    kubeconfig = namespace.server.kubeconfig("everywhere", ADMIN_TOKEN)
    controller = ControllerProcess(kubeconfig, "", namespace.kube)
    await namespace.submit("digits", 2)
    try:
        await controller.start()
        await namespace.until_pods(lambda found: len(found) == 2)
    finally:
        await controller.kill()


@pytest.mark.acceptance(6, 36)
async def test_of_a_job_nothing_but_its_status_is_ever_written(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    async with strict_api(namespace) as api:  # under a name of its own
        submitted = (await api.create(document(worker={"replicas": 2}))).object
    await controller.start()
    for pod in await namespace.until_pods(lambda found: len(found) == 2):
        await namespace.set_pod_status(pod, phase="Running", conditions=READY)
    job = await namespace.until_job(lambda job: condition(job, "Running").get("status") == "True")
    fields = job["metadata"]["managedFields"]
    ours = [entry for entry in fields if entry["manager"] == FIELD_MANAGER]
    assert {entry.get("subresource") for entry in ours} == {"status"}
    assert job["spec"] == submitted["spec"]
    assert job["metadata"]["generation"] == submitted["metadata"]["generation"]
    assert "finalizers" not in job["metadata"]


@pytest.mark.acceptance(35)
async def test_a_deadline_is_met_by_itself_and_outlives_the_controller(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    await namespace.submit("digits", 1, activeDeadlineSeconds=3)
    await controller.start()
    started = await namespace.until_job(lambda job: "startTime" in (job.get("status") or {}))
    await controller.kill()
    await controller.start()
    failed = await namespace.until_job(lambda job: condition(job, "Failed") != {})
    assert condition(failed, "Failed")["reason"] == "DeadlineExceeded"
    assert failed["status"]["startTime"] == started["status"]["startTime"]
    await namespace.until_pods(lambda found: not found)
