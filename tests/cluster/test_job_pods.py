"""What a real API server refuses to pods and jobs in a job namespace, and what it still takes."""

import asyncio
import itertools
from typing import Any

import pytest
import yaml

from components.manifest import FOLDER, read_manifest
from spotrain import contract
from spotrain.controller.kube import KubeError
from spotrain.kinds import JOBS, PODS, Kind
from tests.cluster.cluster import ACCOUNTS, NAMESPACES, WAIT_SECONDS, Namespace

pytestmark = pytest.mark.cluster

NUMBERS = itertools.count()
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
KINDS = {
    "ValidatingAdmissionPolicy": Kind(ADMISSION, "validatingadmissionpolicies"),
    "ValidatingAdmissionPolicyBinding": Kind(ADMISSION, "validatingadmissionpolicybindings"),
}
FILE_SERVER = {"name": "data", "nfs": {"server": "10.0.0.7", "path": "/payroll"}}
DISK = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "9Ti"}},
    "storageClassName": "gp3",
}
REFUSED = [
    pytest.param({"volumes": [FILE_SERVER]}, "past the network policies", id="a-file-server"),
    pytest.param(
        {"volumes": [{"name": "s", "emptyDir": {}}, FILE_SERVER]},
        "past the network policies",
        id="a-file-server-beside-scratch-space",
    ),
    pytest.param(
        {"volumes": [{"name": "d", "ephemeral": {"volumeClaimTemplate": {"spec": DISK}}}]},
        "no quota counts",
        id="a-disk-of-its-own",
    ),
    pytest.param(
        {"volumes": [{"name": "c", "csi": {"driver": "efs.csi.aws.com"}}]},
        "past the network policies",
        id="a-driver-by-name",
    ),
    pytest.param(
        {
            "volumes": [
                {"name": "a", "persistentVolumeClaim": {"claimName": contract.ARCHIVE_CLAIM}}
            ]
        },
        "the archive's alone",
        id="the-archives-volume",
    ),
    pytest.param(
        {"serviceAccountName": contract.ARCHIVE_NAME},
        "the archive's alone",
        id="the-archives-rights",
    ),
    pytest.param({"nodeName": "manager-1"}, "passes over the scheduler", id="a-node-by-name"),
]
TAKEN: dict[str, Any] = {
    "volumes": [
        {"name": "shared", "persistentVolumeClaim": {"claimName": contract.VOLUME_CLAIM}},
        {"name": "key", "secret": {"secretName": "tracker"}},
        {"name": "settings", "configMap": {"name": "settings"}},
        {"name": "scratch", "emptyDir": {"medium": "Memory"}},
        {"name": "me", "downwardAPI": {"items": []}},
        {"name": "token", "projected": {"sources": []}},
    ]
}


@pytest.fixture
async def guarded(namespace: Namespace) -> Namespace:
    """A job namespace, once the server has begun to ask the policy."""
    account = {"metadata": {"name": contract.ARCHIVE_NAME}}
    await namespace.kube.create(ACCOUNTS, namespace.name, account)
    label = {"metadata": {"labels": {contract.LABEL_JOBS: "true"}}}
    await namespace.kube.patch(NAMESPACES, "", namespace.name, label)
    for document in read_manifest("job-pods.yaml"):
        await namespace.kube.apply(KINDS[document["kind"]], "", document)
    async with asyncio.timeout(WAIT_SECONDS):
        # It says nowhere when a policy is in force.
        while not await refusal(namespace, {"nodeName": "anything"}):
            await asyncio.sleep(0.2)
    return namespace


async def refusal(namespace: Namespace, spec: dict[str, Any]) -> str:
    """Nothing, or why a pod is refused."""
    container = {"name": "worker", "image": "none"}
    metadata = {"name": f"worker-{next(NUMBERS)}", "namespace": namespace.name}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    try:
        await namespace.kube.create(
            PODS, namespace.name, {**body, "spec": {"containers": [container], **spec}}
        )
    except KubeError as error:
        return str(error)
    return ""


def job(namespace: Namespace, spec: dict[str, Any]) -> dict[str, Any]:
    text = (FOLDER / "examples" / "digits.yaml").read_text()
    body: dict[str, Any] = yaml.safe_load(text)
    body["metadata"]["namespace"] = namespace.name
    body["spec"]["replicaSpecs"][contract.WORKER]["template"]["spec"].update(spec)
    return body


@pytest.mark.parametrize(("spec", "says"), REFUSED)
async def test_a_pod_cannot_pass_around_what_confines_it(
    guarded: Namespace, spec: dict[str, Any], says: str
) -> None:
    assert says in await refusal(guarded, spec)


@pytest.mark.parametrize(("spec", "says"), REFUSED)
async def test_a_job_is_told_when_it_is_submitted(
    guarded: Namespace, spec: dict[str, Any], says: str
) -> None:
    with pytest.raises(KubeError, match=says):
        await guarded.kube.create(JOBS, guarded.name, job(guarded, spec))


ARCHIVE_POD: dict[str, Any] = {
    "metadata": {"labels": {"app.kubernetes.io/name": contract.ARCHIVE_NAME}},
    "spec": {
        "serviceAccountName": contract.ARCHIVE_NAME,
        "containers": [{"name": "archive", "image": "none"}],
        "volumes": [
            {"name": "a", "persistentVolumeClaim": {"claimName": contract.ARCHIVE_CLAIM}},
        ],
    },
}


async def test_no_job_gets_the_archives_way_out_by_its_label(guarded: Namespace) -> None:
    body = job(guarded, {})
    template = body["spec"]["replicaSpecs"][contract.WORKER]["template"]
    template.setdefault("metadata", {})["labels"] = ARCHIVE_POD["metadata"]["labels"]
    with pytest.raises(KubeError, match="the archive's alone"):
        await guarded.kube.create(JOBS, guarded.name, body)


async def test_the_archives_own_pod_is_taken_from_its_deployment_alone(
    guarded: Namespace,
) -> None:
    body = {**ARCHIVE_POD, "apiVersion": "v1", "kind": "Pod"}
    body["metadata"] = {"name": "archive", **ARCHIVE_POD["metadata"]}
    with pytest.raises(KubeError, match="the archive's alone"):
        await guarded.kube.create(PODS, guarded.name, body)
    async with guarded.server.client() as http:
        http.headers["Impersonate-User"] = "system:serviceaccount:kube-system:replicaset-controller"
        http.headers["Impersonate-Group"] = "system:masters"
        await guarded.server.kube(http).create(PODS, guarded.name, body)


async def test_what_jobs_need_is_taken(guarded: Namespace) -> None:
    assert await refusal(guarded, TAKEN) == ""
    await guarded.kube.create(JOBS, guarded.name, job(guarded, TAKEN))


async def test_other_namespaces_are_not_asked(guarded: Namespace) -> None:
    other = Namespace(guarded.server, guarded.kube, f"{guarded.name}-other")
    await other.create()
    assert await refusal(other, {"volumes": [FILE_SERVER]}) == ""
