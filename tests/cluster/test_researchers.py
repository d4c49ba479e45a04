"""The job namespace in front of a real API server: who may do what in it, and which pods get in."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest
import yaml

from spotrain import contract, kinds
from spotrain.controller.kube import Kube, KubeError
from spotrain.kinds import Kind, Object
from stacks.preview import ROOT
from stacks.recorder import Recording
from tests.cluster.cluster import ACCOUNTS, KINDS, NAMESPACES, WAIT_SECONDS, install
from tests.cluster.server import ApiServer
from tests.cluster.test_job_pods import KINDS as ADMISSION_KINDS
from tests.stack.platform_parts import JOBS, job_namespace, researchers, system_network
from tests.stack.pod_security import BAD, GOOD, changed

pytestmark = pytest.mark.cluster

QUOTAS = Kind("/api/v1", "resourcequotas")
REVIEWS = Kind("/apis/authorization.k8s.io/v1", "subjectaccessreviews")
OTHERS = {
    **ADMISSION_KINDS,
    "LimitRange": Kind("/api/v1", "limitranges"),
    "NetworkPolicy": kinds.NETWORK_POLICIES,
    "PriorityClass": Kind("/apis/scheduling.k8s.io/v1", "priorityclasses"),
    "ResourceQuota": QUOTAS,
}
SYSTEM = contract.SYSTEM_NAMESPACE
DATA_POD = yaml.safe_load((ROOT / "k8s/examples/data.yaml").read_text())["spec"]["template"]["spec"]
EJ, RBAC = contract.GROUP, "rbac.authorization.k8s.io"
_numbers = itertools.count()


@pytest.fixture(scope="module")
def parts() -> list[Recording]:
    """What the program registers for jobs and researchers; made before any event loop runs."""
    return [job_namespace(gpu_quota=20), researchers(), system_network()]


@pytest.fixture
async def kube(server: ApiServer, parts: list[Recording]) -> AsyncIterator[Kube]:
    """The administrator, once everything has been applied."""
    async with server.client() as http:
        admin = server.kube(http)
        await install(admin)
        for recording in parts:
            for resource in recording.resources:
                if resource.type.startswith("kubernetes:"):
                    await _apply(admin, resource.inputs)
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        await admin.apply(ACCOUNTS, JOBS, account)
        await _until_known(admin)
        yield admin


async def _apply(kube: Kube, body: Object) -> None:
    kind = {**KINDS, **OTHERS}[body["kind"]]
    await kube.apply(kind, body["metadata"].get("namespace", ""), body)


async def _until_known(kube: Kube) -> None:
    """The authorizer learns of roles a moment after they are stored, and tells nobody."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not await may(kube, "create", f"{EJ}/{contract.PLURAL}", JOBS):
            await asyncio.sleep(0.05)


async def may(kube: Kube, verb: str, resource: str, namespace: str = "", name: str = "") -> bool:
    """Whether a researcher may; `resource` is [group/]plural[:subresource]."""
    group, _, plural = resource.rpartition("/")
    plural, _, subresource = plural.partition(":")
    attributes = {"verb": verb, "group": group, "resource": plural, "subresource": subresource}
    spec = {
        "user": "ada",
        "groups": [contract.RESEARCHERS_GROUP, "system:authenticated"],
        "resourceAttributes": {**attributes, "namespace": namespace, "name": name},
    }
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    allowed: bool = (await kube.create(REVIEWS, "", body))["status"]["allowed"]
    return allowed


JOB, PODS = f"{EJ}/{contract.PLURAL}", "pods"
CAN = [
    *[(verb, JOB, JOBS, "") for verb in ("get", "list", "watch", "create", "patch", "delete")],
    ("patch", f"{JOB}:scale", JOBS, "digits"),
    *[(verb, PODS, JOBS, "") for verb in ("get", "list", "watch", "delete")],
    ("get", f"{PODS}:log", JOBS, "digits-worker-0"),
    ("create", f"{PODS}:portforward", JOBS, "digits-worker-0"),
    ("create", f"{PODS}:eviction", JOBS, "digits-worker-0"),
    ("get", "persistentvolumeclaims", JOBS, contract.VOLUME_CLAIM),
    ("list", "events", JOBS, ""),
    ("list", "resourcequotas", JOBS, ""),
    ("list", "networking.k8s.io/networkpolicies", JOBS, ""),
    ("create", "secrets", JOBS, ""),
    ("list", "nodes", "", ""),
    ("list", "scheduling.k8s.io/priorityclasses", "", ""),
    ("get", "apiextensions.k8s.io/customresourcedefinitions", "", f"{contract.PLURAL}.{EJ}"),
    ("get", "configmaps", SYSTEM, contract.POOLS_CONFIGMAP),
    ("get", "configmaps", SYSTEM, contract.PRICES_CONFIGMAP),
    ("get", "apps/deployments", SYSTEM, contract.CONTROLLER_NAME),
    ("get", "configmaps", "kube-system", "cluster-autoscaler-status"),
]
CANNOT = [
    # Become somebody else, or more.
    ("create", f"{RBAC}/rolebindings", JOBS, ""),
    ("patch", f"{RBAC}/roles", JOBS, ""),
    ("bind", f"{RBAC}/clusterroles", "", "cluster-admin"),
    ("escalate", f"{RBAC}/clusterroles", "", ""),
    ("impersonate", "users", "", "admin"),
    ("create", "serviceaccounts:token", JOBS, "default"),
    ("create", "serviceaccounts:token", SYSTEM, contract.CONTROLLER_NAME),
    ("create", "certificates.k8s.io/certificatesigningrequests", "", ""),
    # Run something outside a job, or inside somebody's.
    *[("create", PODS, namespace, "") for namespace in (JOBS, SYSTEM, "kube-system", "default")],
    ("create", f"{PODS}:exec", JOBS, "digits-worker-0"),
    ("patch", f"{PODS}:ephemeralcontainers", JOBS, "digits-worker-0"),
    ("patch", PODS, JOBS, "digits-worker-0"),
    ("create", "batch/jobs", JOBS, ""),
    ("create", JOB, "default", ""),
    # End everybody's work at once, or write what the controller writes.
    ("deletecollection", JOB, JOBS, ""),
    ("patch", f"{JOB}:status", JOBS, "digits"),
    # Read or change what holds for all.
    *[(verb, "secrets", JOBS, "") for verb in ("get", "list", "watch", "patch", "delete")],
    ("patch", "configmaps", JOBS, "spotrain-coordinator-ca"),
    ("get", "secrets", SYSTEM, "spotrain-coordinator-tls"),
    ("get", "configmaps", SYSTEM, "another"),
    ("get", "configmaps", "kube-system", "extension-apiserver-authentication"),
    ("patch", "configmaps", "kube-system", "cluster-autoscaler-status"),
    ("patch", "configmaps", SYSTEM, contract.POOLS_CONFIGMAP),
    ("patch", "resourcequotas", JOBS, contract.PRIORITY_LOW),
    ("delete", "networking.k8s.io/networkpolicies", JOBS, "spotrain.default-deny"),
    ("delete", "persistentvolumeclaims", JOBS, contract.VOLUME_CLAIM),
    ("patch", "namespaces", JOBS, JOBS),
    ("patch", "nodes", "", ""),
    ("create", "scheduling.k8s.io/priorityclasses", "", ""),
    ("delete", "apiextensions.k8s.io/customresourcedefinitions", "", f"{contract.PLURAL}.{EJ}"),
]


async def test_a_researcher_may_do_what_the_work_needs_and_nothing_else(kube: Kube) -> None:
    assert [asked for asked in CAN if not await may(kube, *asked)] == []
    assert [asked for asked in CANNOT if await may(kube, *asked)] == []


# --- Pods -----------------------------------------------------------------------------------------
def a_pod(gpus: int = 0, **spec: Any) -> Object:
    container = {"name": "main", "image": "example/main"}
    limits = {contract.GPU_RESOURCE: str(gpus)} if gpus else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{next(_numbers)}"},
        "spec": {"containers": [{**container, "resources": {"limits": limits}}], **spec},
    }


async def refusal(kube: Kube, body: Object, namespace: str = JOBS, kind: Kind = kinds.PODS) -> str:
    """Why the API server does not take an object; empty where it does, and it is removed again."""
    try:
        made = await kube.create(kind, namespace, body)
    except KubeError as error:
        if error.status != 403:
            raise
        return str(error)
    name, uid = made["metadata"]["name"], made["metadata"]["uid"]
    await kube.delete(kind, namespace, name, uid=uid, grace_seconds=0)
    return ""


async def set_used(kube: Kube, **used: dict[str, str]) -> None:
    """What the cluster's quota controller would count: nothing, but for what a test says."""
    items, _ = await kube.list_all(QUOTAS, JOBS)
    for quota in items:
        name, hard = quota["metadata"]["name"], quota["spec"]["hard"]
        status = {"hard": hard, "used": {**dict.fromkeys(hard, "0"), **used.get(name, {})}}
        await kube.patch(QUOTAS, JOBS, name, {"status": status}, subresource="status")


async def test_low_jobs_that_fill_the_pools_do_not_keep_a_high_one_out(kube: Kube) -> None:
    await set_used(kube, **{contract.PRIORITY_LOW: {"requests.nvidia.com/gpu": "16"}})
    low, high = (
        a_pod(gpus=1, priorityClassName=name)
        for name in (contract.PRIORITY_LOW, contract.PRIORITY_HIGH)
    )
    assert "exceeded quota: spotrain-low" in await refusal(kube, low)
    assert await refusal(kube, a_pod(gpus=1)) == ""
    assert await refusal(kube, high) == ""


async def test_a_pod_without_a_gpu_is_not_kept_out_by_gpus(kube: Kube) -> None:
    await set_used(kube, **{contract.PRIORITY_NORMAL: {"requests.nvidia.com/gpu": "16"}})
    assert "exceeded quota: spotrain-normal" in await refusal(kube, a_pod(gpus=1))
    assert await refusal(kube, a_pod()) == ""


async def test_the_stack_files_quota_keeps_every_class_out(kube: Kube) -> None:
    await set_used(kube, **{"spotrain-jobs": {"requests.nvidia.com/gpu": "20"}})
    high = a_pod(gpus=1, priorityClassName=contract.PRIORITY_HIGH)
    assert "exceeded quota: spotrain-jobs" in await refusal(kube, high)


async def test_a_sweep_that_runs_away_is_stopped(kube: Kube) -> None:
    body = {
        "apiVersion": contract.API_VERSION,
        "kind": contract.KIND,
        "metadata": {"name": "digits"},
        "spec": {
            "minReplicas": 1,
            "maxReplicas": 1,
            "replicaSpecs": {
                contract.WORKER: {"replicas": 1, "template": {"spec": a_pod()["spec"]}}
            },
        },
    }
    count = "count/elasticjobs.elastic.pytorch.org"
    await set_used(kube, **{"spotrain-jobs": {count: "499"}})
    assert await refusal(kube, body, kind=kinds.JOBS) == ""
    await set_used(kube, **{"spotrain-jobs": {count: "500"}})
    assert "exceeded quota: spotrain-jobs" in await refusal(kube, body, kind=kinds.JOBS)


async def test_the_way_to_the_volume_gets_in_while_jobs_hold_every_gpu(kube: Kube) -> None:
    await set_used(kube, **{contract.PRIORITY_NORMAL: {"requests.nvidia.com/gpu": "16"}})
    assert await refusal(kube, {**a_pod(), "spec": DATA_POD}) == ""


@pytest.mark.parametrize("name", ["system-node-critical", "system-cluster-critical"])
async def test_no_job_takes_a_priority_of_the_system(kube: Kube, name: str) -> None:
    await set_used(kube)
    assert "spotrain-system-classes" in await refusal(kube, a_pod(priorityClassName=name))


async def test_an_old_job_runs_as_root_and_gets_requests(kube: Kube) -> None:
    await set_used(kube)
    made = await kube.create(kinds.PODS, JOBS, a_pod(securityContext={"runAsUser": 0}))
    (container,) = made["spec"]["containers"]
    assert container["resources"] == {"requests": {"cpu": "250m", "memory": "512Mi"}}


async def test_no_job_gets_at_its_node(kube: Kube) -> None:
    await set_used(kube)
    etc = {"name": "etc", "hostPath": {"path": "/etc"}}
    for spec in ({"hostNetwork": True}, {"hostPID": True}, {"volumes": [etc]}):
        assert "violates PodSecurity" in await refusal(kube, a_pod(**spec))


async def test_the_judge_of_the_stacks_tests_judges_as_the_api_server_does(kube: Kube) -> None:
    metadata = {"name": "strict", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}
    await kube.apply(
        NAMESPACES, "", {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    )
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    await kube.apply(ACCOUNTS, "strict", account)
    assert await refusal(kube, {**a_pod(), "spec": GOOD}, "strict") == ""
    assert await refusal(kube, {**a_pod(), "spec": DATA_POD}, "strict") == ""
    for fault, change in BAD.items():
        body = {**a_pod(), "spec": changed(*change)}
        assert "violates PodSecurity" in await refusal(kube, body, "strict"), fault
