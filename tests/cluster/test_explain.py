"""`spotrain explain` for a researcher: the situations of the table, on a real API server."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from spotrain import contract, kinds
from spotrain.cli.cluster import connected
from spotrain.cli.evidence import gather
from spotrain.controller.kube import Conflict, Kube, NotFound
from spotrain.explain import Explanation, explain
from spotrain.explain.autoscaler import CONFIGMAP
from spotrain.explain.autoscaler import NAMESPACE as AUTOSCALER
from spotrain.kinds import Kind, Object
from tests.cluster.cluster import (
    ACCOUNTS,
    BINDINGS,
    KINDS,
    REPOSITORY,
    WAIT_SECONDS,
    Namespace,
    remove,
    request_token,
)
from tests.cluster.command_line import Person
from tests.cluster.server import ISSUER, RESEARCHER_TOKEN
from tests.explain.scene import Scene, with_times_moved
from tests.explain.situations import ROWS, Row

pytestmark = pytest.mark.cluster

SYSTEM = contract.SYSTEM_NAMESPACE
REVIEWS = Kind("/apis/authorization.k8s.io/v1", "subjectaccessreviews")
A_JOB = {"verb": "get", "group": contract.GROUP, "resource": contract.PLURAL}
EVERYTHING = (
    A_JOB,
    {"verb": "list", "resource": "nodes", "namespace": ""},
    {
        "verb": "get",
        "group": "apps",
        "resource": "deployments",
        "namespace": SYSTEM,
        "name": contract.CONTROLLER_NAME,
    },
    {"verb": "get", "resource": "configmaps", "namespace": AUTOSCALER, "name": CONFIGMAP},
)
"""One right of each grant."""
DEPENDS_ON_AGE = {
    "the controller runs and has not looked at the job",
    "the autoscaler says nothing",
    "Google Cloud: the autoscaler says nothing",
    "no node is free, and nobody adds any",
    "a node does not come up",
    "a node is ready, its GPU plugin fails",
}
"""How old an object is only the API server says, and every one here is new."""
NOT_TAKEN = {"the platform is not installed", "the spec cannot be used", "it is being deleted"}
"""The API server refuses the object, or removes it."""
PLACED = [row for row in ROWS if row.name not in DEPENDS_ON_AGE | NOT_TAKEN]
RIGHTS = list(yaml.safe_load_all((REPOSITORY / "k8s/researchers.yaml").read_text()))


class Placing:
    """Puts a scene's objects on the API server, in the namespace of one test."""

    def __init__(self, namespace: Namespace) -> None:
        self.kube: Kube = namespace.kube
        self.namespace = namespace.name
        self.uids: dict[str, str] = {}
        """On paper -> as the API server gave them."""
        self.made: list[tuple[Kind, str, str]] = []
        """Outside of the namespace, to be removed."""

    async def put(self, scene: Scene) -> None:
        shift = datetime.now(UTC).replace(microsecond=0) - scene.now
        situation = with_times_moved(scene.situation(), shift)
        await self._put(kinds.JOBS, situation["job"])
        for pod in situation["pods"]:
            await self._put(kinds.PODS, pod)
        for node in situation["nodes"]:
            await self._put(kinds.NODES, node, namespace="")
        for event in situation["events"]:
            await self._put(kinds.EVENTS, event)
        for claim in situation["claims"] or ():
            await self._put(kinds.CLAIMS, {**claim, "spec": CLAIM})
        pools = {"metadata": {"name": contract.POOLS_CONFIGMAP}, **situation["pools"]}
        await self._put(kinds.CONFIG_MAPS, pools, namespace=SYSTEM)
        deployment = {**situation["controller"], "metadata": {"name": contract.CONTROLLER_NAME}}
        await self._put(kinds.DEPLOYMENTS, completed(deployment), namespace=SYSTEM)
        if situation["autoscaler"]:
            await self._put(kinds.CONFIG_MAPS, situation["autoscaler"], namespace=AUTOSCALER)

    async def clear(self) -> None:
        for made in self.made:
            with contextlib.suppress(Conflict, NotFound):
                await remove(self.kube, *made)

    async def _put(self, kind: Kind, document: Object, namespace: str | None = None) -> None:
        """Whatever the API server gives itself is left out; the rest is as the scene has it."""
        place = self.namespace if namespace is None else namespace
        body = self._renamed(document)
        metadata = body["metadata"]
        paper = metadata.pop("uid", "")
        for field in ("creationTimestamp", "generation", "resourceVersion"):
            metadata.pop(field, None)
        if place:
            metadata["namespace"] = place
        if namespace is not None:  # all tests share it
            self.made.append((kind, place, metadata["name"]))
            with contextlib.suppress(NotFound):
                await remove(self.kube, *self.made[-1])
        made = await self.kube.create(kind, place, body)
        if paper:
            self.uids[paper] = made["metadata"]["uid"]
        if "status" in document and kind is not kinds.EVENTS:
            status = {"status": body["status"]}
            await self.kube.patch(kind, place, metadata["name"], status, subresource="status")

    def _renamed(self, document: Object) -> Object:
        text = json.dumps(document)
        for paper, real in self.uids.items():
            text = text.replace(f'"{paper}"', f'"{real}"')
        text = text.replace('"namespace": "jobs"', f'"namespace": "{self.namespace}"')
        renamed: Object = json.loads(text)
        return renamed


CLAIM = {
    "accessModes": ["ReadWriteMany"],
    "storageClassName": "",
    "resources": {"requests": {"storage": "1Gi"}},
}


def completed(deployment: Object) -> Object:
    """With what the API server wants of every Deployment."""
    labels = {"app": "controller"}
    spec = deployment["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{**container, "image": "none"}]},
    }
    status = {"replicas": 2, **deployment["status"]}
    return {
        **deployment,
        "spec": {**spec, "selector": {"matchLabels": labels}, "template": template},
        "status": status,
    }


@pytest.fixture
async def placing(namespace: Namespace) -> AsyncIterator[Placing]:
    made = Placing(namespace)
    yield made
    await made.clear()


@pytest.fixture
async def researcher(namespace: Namespace, tmp_path: Path) -> Person:
    """With the rights of k8s/researchers.yaml, and no other."""
    for document in RIGHTS:
        place = document["metadata"].get("namespace", "")
        await namespace.kube.apply(KINDS[document["kind"]], place, document)
    await grant(namespace, {"kind": "Group", "name": contract.RESEARCHERS_GROUP})
    for asked in EVERYTHING:
        await until_allowed(namespace, "ada", contract.RESEARCHERS_GROUP, asked)
    kubeconfig = namespace.server.kubeconfig(f"{namespace.name}-ada", RESEARCHER_TOKEN)
    return Person(kubeconfig, namespace.name, tmp_path)


async def grant(namespace: Namespace, subject: dict[str, str]) -> None:
    """The researchers' rights over the jobs of this namespace."""
    role = "spotrain-researchers-jobs"
    group = "rbac.authorization.k8s.io"
    body: dict[str, Any] = {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": subject["name"].replace(":", "-")},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [subject],
    }
    await namespace.kube.apply(BINDINGS, namespace.name, body)


async def until_allowed(
    namespace: Namespace, user: str, group: str, attributes: dict[str, str]
) -> None:
    """The authorizer learns of rights a moment after they are stored, and tells nobody."""
    place = {"namespace": namespace.name, **attributes}
    spec = {"user": user, "groups": [group], "resourceAttributes": place}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    async with asyncio.timeout(WAIT_SECONDS):
        while not (await namespace.kube.create(REVIEWS, "", body))["status"]["allowed"]:
            await asyncio.sleep(0.05)


def look(person: Person) -> Explanation:
    """As the verb does, without the second that a process takes to start."""
    with connected(None, person.namespace) as cluster:
        return explain(gather(cluster, "digits", now=datetime.now(UTC)))


@pytest.mark.parametrize("row", PLACED, ids=lambda row: row.name)
async def test_a_researcher_is_told_the_cause(
    row: Row, placing: Placing, researcher: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    await placing.put(row.scene())
    monkeypatch.setenv("KUBECONFIG", str(researcher.kubeconfig))
    found = await asyncio.to_thread(look, researcher)
    assert tuple(cause.reason for cause in found.causes) == row.reasons, found.paragraph
    assert found.next_command == row.next.replace("-n jobs", f"-n {placing.namespace}")
    assert found.unseen == {}


async def test_the_verb_speaks_to_people_and_to_programs(
    placing: Placing, researcher: Person
) -> None:
    (row,) = (row for row in ROWS if row.name == "a wrong image, and no capacity for the rest")
    await placing.put(row.scene())
    said = await researcher.types("explain", "digits")
    assert said.code == 0, said.err
    *paragraph, _, command = said.out.splitlines()
    assert "manifest unknown" in " ".join(paragraph)
    assert command == f"Next: {row.next.replace('-n jobs', f'-n {placing.namespace}')}"
    assert max(map(len, paragraph)) <= 80
    told = (await researcher.types("explain", "digits", "-o", "json")).document
    assert isinstance(told, dict)
    assert [cause["reason"] for cause in told["causes"]] == list(row.reasons)
    assert (await researcher.types("explain", "digits", "-o", "name")).out.split() == [*row.reasons]
    unknown = await researcher.types("explain", "digit")
    assert (unknown.code, unknown.out) == (4, "")
    assert "Did you mean digits?" in unknown.err


async def test_what_somebody_may_not_read_is_left_out_and_said(
    namespace: Namespace, placing: Placing, researcher: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    (row,) = (row for row in ROWS if row.name == "no spot capacity in its zone")
    await placing.put(row.scene())
    guest = {"kind": "ServiceAccount", "name": "guest", "namespace": namespace.name}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "guest"}}
    await namespace.kube.apply(ACCOUNTS, namespace.name, account)
    await grant(namespace, guest)
    await until_allowed(namespace, f"system:serviceaccount:{namespace.name}:guest", "", A_JOB)
    token = await request_token(namespace.kube, namespace.name, "guest", audience=ISSUER)
    kubeconfig = namespace.server.kubeconfig(f"{namespace.name}-guest", token)
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    found = await asyncio.to_thread(look, replace(researcher, kubeconfig=kubeconfig))
    assert found.causes[0].reason == "NoCapacity"
    assert {"nodes", "pools", "the controller", "the autoscaler's status"} <= found.unseen.keys()
    assert "Not looked at, as you may not read it: " in found.paragraph
