"""What the controller may do: all that it needs, nothing besides, and none of it by accident."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
import yaml

from spotrain import contract, kinds
from spotrain.controller.kube import Conflict, KubeError, NotFound
from spotrain.controller.settings import ENV_NAMESPACED
from spotrain.controller.trust import SECRET
from spotrain.coordinator import protocol
from spotrain.kinds import Kind, Object
from tests.cluster.agents import agent, key_of, play_all
from tests.cluster.cluster import (
    BINDINGS,
    KINDS,
    REPOSITORY,
    ControllerProcess,
    Namespace,
    install,
    remove,
    request_token,
    until,
)
from tests.cluster.conftest import controller_for
from tests.cluster.server import ISSUER, ApiServer

pytestmark = pytest.mark.cluster

Right = tuple[str, str, str]
"""(API group, resource with subresource, verb)"""
JOBS = contract.GROUP
UNSEEN: dict[Right, str] = {
    (JOBS, "elasticjobs/finalizers", "update"): "asked for by the API server at each new pod",
    ("", "configmaps", "create"): "asked for by the API server where an apply creates",
    ("networking.k8s.io", "networkpolicies", "create"): "as above",
    ("networking.k8s.io", "networkpolicies", "delete"): "asked for where it gets another owner",
    ("policy", "poddisruptionbudgets", "create"): "asked for where an apply creates",
    ("policy", "poddisruptionbudgets", "patch"): "of jobs that ask for one",
    ("policy", "poddisruptionbudgets", "delete"): "of jobs that ask for one",
    **{
        (group, "podgroups", verb): "where a gang scheduler is installed"
        for group in ("scheduling.x-k8s.io", "scheduling.volcano.sh")
        for verb in ("create", "patch")
    },
    (JOBS, "elasticjobs", "get"): "after a write that came too late",
    ("", "pods", "get"): "of a pod that is in the way",
    ("", "events", "patch"): "the same news again",
}
"""Rights that a life without mishaps does not show in the audit log."""


def none(found: list[Object]) -> bool:
    return not found


def two(found: list[Object]) -> bool:
    return len(found) == 2


async def live(namespace: Namespace, controller: ControllerProcess) -> None:
    """All that a job goes through: pods, agents, a world, a loss, a rest, an end, its removal."""
    job = await namespace.submit("digits", 2, ttlSecondsAfterFinished=0)
    await controller.start()
    pods = await namespace.until_pods(lambda found: len(found) == 2)
    await controller.until_serving()
    async with AsyncExitStack() as stack:
        agents = await play_all(stack, namespace, controller, key_of(job), pods)
        for speaker in agents:
            await speaker.say(protocol.Ready(port=12345))
        for speaker in agents:
            assert (await speaker.hear(protocol.NewWorld)).number == 1
        forged = agent(
            controller.port,
            authority=await namespace.authority(),
            token=(await namespace.token_of(pods[0]))[:-9] + "forgedlie",
            job=key_of(job),
            pod=pods[0]["metadata"]["name"],
        )
        async with forged as liar:
            assert "is not one of a pod" in (await liar.hear(protocol.Refused)).reason
    lost = pods[0]["metadata"]["uid"]
    await namespace.delete_pod(pods[0])

    def is_replaced(found: list[Object]) -> bool:
        return len(found) == 2 and lost not in {pod["metadata"]["uid"] for pod in found}

    await namespace.until_pods(is_replaced)
    for suspend in (True, False):
        await namespace.kube.patch(
            kinds.JOBS, namespace.name, "digits", {"spec": {"suspend": suspend}}
        )
        await namespace.until_pods(none if suspend else two)
    for pod in await namespace.until_pods(is_replaced):
        with contextlib.suppress(NotFound):  # its siblings go when the first one has ended
            await namespace.set_pod_status(pod, phase="Succeeded")
    await until(namespace.kube, kinds.JOBS, namespace.name, lambda jobs: not jobs)


async def spoil_certificate(namespace: Namespace) -> None:
    body = {"data": {"tls.crt": ""}}
    await namespace.kube.patch(kinds.SECRETS, contract.SYSTEM_NAMESPACE, SECRET, body)


async def drop_certificate(namespace: Namespace) -> None:
    with contextlib.suppress(NotFound):
        await remove(namespace.kube, kinds.SECRETS, contract.SYSTEM_NAMESPACE, SECRET)


def audited(server: ApiServer, start: int) -> list[Object]:
    text = server.audit_log.read_bytes()[start:].decode()
    return [json.loads(line) for line in text.splitlines()]


def used(entries: list[Object]) -> set[Right]:
    return {right for entry in entries if (right := _right(entry))}


def _right(entry: Object) -> Right | None:
    if not (what := entry.get("objectRef")):
        return None  # a path that is no object: the API server's own keys
    resource, part = what["resource"], what.get("subresource")
    return what.get("apiGroup", ""), f"{resource}/{part}" if part else resource, entry["verb"]


def forbidden(entries: list[Object]) -> list[str]:
    return [
        f"{entry['verb']} {entry['requestURI']}"
        for entry in entries
        if entry.get("responseStatus", {}).get("code") == 403
    ]


def granted(file: str) -> set[Right]:
    documents = yaml.safe_load_all((REPOSITORY / "k8s" / file).read_text())
    return {
        (group, resource, verb)
        for document in documents
        for rule in document.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.fixture
def log_start(server: ApiServer) -> int:
    return server.audit_log.stat().st_size


@pytest.mark.acceptance(39)
async def test_a_jobs_whole_life_needs_every_right_that_is_granted_and_no_other(
    namespace: Namespace, controller: ControllerProcess, log_start: int
) -> None:
    await drop_certificate(namespace)
    await live(namespace, controller)
    await controller.stop()
    await spoil_certificate(namespace)
    await controller.start()
    await controller.until_serving()

    assert {json.loads(line)["level"] for line in controller.log} <= {"info", "warning"}
    entries = audited(namespace.server, log_start)
    assert forbidden(entries) == []
    assert granted("rbac.yaml") - used(entries) <= UNSEEN.keys()
    assert used(entries) <= granted("rbac.yaml")


@pytest.fixture
async def namespaced(server: ApiServer) -> AsyncIterator[tuple[Namespace, ControllerProcess]]:
    """A controller with the rights of k8s/namespaced/rbac.yaml and no other."""
    async with server.client() as http:
        kube = server.kube(http)
        await install(kube)
        namespace = Namespace(server, kube, f"roles-{id(http)}")
        await namespace.create()
        await remove(kube, BINDINGS, namespace.name, f"{contract.CONTROLLER_NAME}-jobs")
        everywhere = KINDS["ClusterRoleBinding"]
        await remove(kube, everywhere, "", contract.CONTROLLER_NAME)
        for document in namespaced_manifest(namespace.name):
            where = document["metadata"]["namespace"]
            await kube.apply(KINDS[document["kind"]], where, document)
        async with controller_for(namespace) as controller:
            controller.environment = {ENV_NAMESPACED: "true"}
            yield namespace, controller
        await install(kube)


def namespaced_manifest(job_namespace: str) -> Iterator[Object]:
    text = (REPOSITORY / "k8s/namespaced/rbac.yaml").read_text()
    yield from yaml.safe_load_all(text.replace(contract.JOB_NAMESPACE, job_namespace))


@pytest.mark.acceptance(39)
async def test_roles_alone_are_enough_for_one_namespace(
    namespaced: tuple[Namespace, ControllerProcess], log_start: int
) -> None:
    namespace, controller = namespaced
    await live(namespace, controller)
    entries = audited(namespace.server, log_start)
    assert forbidden(entries) == []
    assert used(entries) <= granted("namespaced/rbac.yaml")


def test_the_file_for_one_namespace_has_roles_only_and_the_same_rules() -> None:
    everywhere = {
        (d["kind"], d["metadata"]["name"]): d
        for d in yaml.safe_load_all((REPOSITORY / "k8s/rbac.yaml").read_text())
    }
    here = {
        (d["kind"], d["metadata"]["name"], d["metadata"]["namespace"]): d
        for d in namespaced_manifest(contract.JOB_NAMESPACE)
    }
    assert {kind for kind, *_ in here} == {"ServiceAccount", "Role", "RoleBinding"}
    name, jobs = contract.CONTROLLER_NAME, f"{contract.CONTROLLER_NAME}-jobs"
    role = here["Role", jobs, contract.JOB_NAMESPACE]
    assert role["rules"] == everywhere["ClusterRole", jobs]["rules"]
    own = here["Role", name, contract.SYSTEM_NAMESPACE]
    assert own["rules"] == everywhere["Role", name]["rules"]


# --- What `kubectl auth can-i --list` says ---


async def can_i(server: ApiServer, token: str, namespace: str) -> set[str]:
    """One line a verb, as `group/resource[name]: verb`."""
    reviews = Kind("/apis/authorization.k8s.io/v1", "selfsubjectrulesreviews")
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    async with server.client(token) as http:
        status: Any = (await server.kube(http).create(reviews, "", body))["status"]
    return {
        f"{group}/{resource}{rule.get('resourceNames') or ''}: {verb}"
        for rule in status["resourceRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


SNAPSHOT_EVERYWHERE = """
/nodes: list
/nodes: watch
authentication.k8s.io/tokenreviews: create
"""
SNAPSHOT_JOB_NAMESPACE = """
/configmaps['spotrain-coordinator-ca']: create
/configmaps['spotrain-coordinator-ca']: patch
/events: create
/events: list
/events: patch
/events: watch
/pods: create
/pods: delete
/pods: get
/pods: list
/pods: watch
elastic.pytorch.org/elasticjobs/finalizers: update
elastic.pytorch.org/elasticjobs/status: patch
elastic.pytorch.org/elasticjobs: delete
elastic.pytorch.org/elasticjobs: get
elastic.pytorch.org/elasticjobs: list
elastic.pytorch.org/elasticjobs: watch
networking.k8s.io/networkpolicies: create
networking.k8s.io/networkpolicies: delete
networking.k8s.io/networkpolicies: patch
policy/poddisruptionbudgets: create
policy/poddisruptionbudgets: delete
policy/poddisruptionbudgets: list
policy/poddisruptionbudgets: patch
policy/poddisruptionbudgets: watch
scheduling.volcano.sh/podgroups: create
scheduling.volcano.sh/podgroups: patch
scheduling.x-k8s.io/podgroups: create
scheduling.x-k8s.io/podgroups: patch
"""
SNAPSHOT_OWN_NAMESPACE = """
/configmaps['spotrain-pools', 'spotrain-prices']: list
/configmaps['spotrain-pools', 'spotrain-prices']: watch
/secrets: create
/secrets['spotrain-coordinator-tls']: get
/secrets['spotrain-coordinator-tls']: patch
coordination.k8s.io/leases: create
coordination.k8s.io/leases['spotrain-controller']: get
coordination.k8s.io/leases['spotrain-controller']: patch
"""


@pytest.mark.acceptance(39)
async def test_the_list_of_what_it_may_do_is_this_one(namespace: Namespace) -> None:
    kube, server = namespace.kube, namespace.server
    anybody = await request_token(kube, namespace.name, "default", audience=ISSUER)
    token = await request_token(
        kube, contract.SYSTEM_NAMESPACE, contract.CONTROLLER_NAME, audience=ISSUER
    )

    async def beyond_anybody(where: str) -> set[str]:
        ours, theirs = await asyncio.gather(
            can_i(server, token, where), can_i(server, anybody, where)
        )
        return ours - theirs

    everywhere = set(SNAPSHOT_EVERYWHERE.split("\n")) - {""}
    in_jobs = set(SNAPSHOT_JOB_NAMESPACE.split("\n")) - {""}
    own = set(SNAPSHOT_OWN_NAMESPACE.split("\n")) - {""}
    assert await beyond_anybody("default") == everywhere
    assert await beyond_anybody(namespace.name) == everywhere | in_jobs
    assert await beyond_anybody(contract.SYSTEM_NAMESPACE) == everywhere | own


async def test_a_pod_without_the_right_to_block_its_owner_could_not_be_made(
    namespace: Namespace,
) -> None:
    """Why elasticjobs/finalizers is granted: this API server checks it."""
    job = await namespace.submit("digits", 1)
    token = await request_token(
        namespace.kube, contract.SYSTEM_NAMESPACE, contract.CONTROLLER_NAME, audience=ISSUER
    )
    roles, name = KINDS["ClusterRole"], f"{contract.CONTROLLER_NAME}-jobs"
    role = await namespace.kube.get(roles, "", name)
    rules = [rule for rule in role["rules"] if "elasticjobs/finalizers" not in rule["resources"]]
    await namespace.kube.patch(roles, "", name, {"rules": rules})
    owner = {
        "apiVersion": contract.API_VERSION,
        "kind": contract.KIND,
        "name": "digits",
        "uid": job["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x", "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "x", "image": "none"}]},
    }
    try:
        async with namespace.server.client(token) as http:
            kube = namespace.server.kube(http)
            with pytest.raises(KubeError, match="finalizers"):
                await kube.create(kinds.PODS, namespace.name, pod)
    finally:
        with contextlib.suppress(Conflict):
            await install(namespace.kube)
