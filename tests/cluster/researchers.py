"""A job namespace with the platform's rules, and a researcher who has a kubeconfig for it."""

import asyncio
from typing import Any

import yaml

from spotrain import contract, kinds
from spotrain.controller.kube import Kube
from spotrain.kinds import Kind
from tests.cluster.cluster import BINDINGS, KINDS, NAMESPACES, REPOSITORY, WAIT_SECONDS, Namespace
from tests.cluster.server import GUEST, RESEARCHER
from tests.cluster.test_job_pods import KINDS as ADMISSION_KINDS

REVIEWS = Kind("/apis/authorization.k8s.io/v1", "subjectaccessreviews")
POOLS: list[dict[str, Any]] = [
    {
        "name": f"{gpu}-{capacity}",
        "gpu": gpu,
        "gpusPerNode": gpus,
        "capacity": capacity,
        "zones": ["a", "b"],
        "instanceTypes": ["some.type"],
        "maxNodes": 8,
        "noticeSeconds": 90,
        "spotUsdPerHour": 0.2,
        "onDemandUsdPerHour": 0.5,
    }
    for gpu, gpus, capacity in (("t4", 1, "spot"), ("t4", 1, "on-demand"), ("a100", 8, "spot"))
]
IMAGE = "example/training@sha256:" + "1" * 64


async def admit_researchers(namespace: Namespace) -> None:
    """What the stack makes beside the controller: rights, rules for pods, pools."""
    kube, labels = namespace.kube, {contract.LABEL_JOBS: "true"}
    labels["pod-security.kubernetes.io/enforce"] = "baseline"
    await kube.patch(NAMESPACES, "", namespace.name, {"metadata": {"labels": labels}})
    for file in ("researchers.yaml", "job-pods.yaml"):
        for document in yaml.safe_load_all((REPOSITORY / "k8s" / file).read_text()):
            kind = {**KINDS, **ADMISSION_KINDS}[document["kind"]]
            await kube.apply(kind, document["metadata"].get("namespace", ""), document)
    await kube.create(BINDINGS, namespace.name, _binding())
    await _until_known(kube, namespace.name)


async def offer_pools(kube: Kube) -> None:
    """Until `kinds.CONFIG_MAPS` of that name is removed again: all tests share the namespace."""
    metadata = {"name": contract.POOLS_CONFIGMAP, "namespace": contract.SYSTEM_NAMESPACE}
    data = {contract.POOLS_KEY: yaml.safe_dump(POOLS), contract.TRAINING_IMAGE_KEY: IMAGE}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    await kube.apply(kinds.CONFIG_MAPS, contract.SYSTEM_NAMESPACE, body)


def _binding() -> kinds.Object:
    group, role = "rbac.authorization.k8s.io", "spotrain-researchers-jobs"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": role},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": contract.RESEARCHERS_GROUP}],
    }


async def admit_guest(namespace: Namespace) -> None:
    """Who may look at the jobs of the namespace, and at nothing else anywhere."""
    group, name = "rbac.authorization.k8s.io", "guests"
    role = {
        "apiVersion": f"{group}/v1",
        "kind": "Role",
        "metadata": {"name": name},
        "rules": [
            {
                "apiGroups": [contract.GROUP],
                "resources": [contract.PLURAL],
                "verbs": ["get", "list", "watch"],
            }
        ],
    }
    await namespace.kube.create(KINDS["Role"], namespace.name, role)
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": GUEST}],
    }
    await namespace.kube.create(BINDINGS, namespace.name, binding)
    job = {"group": contract.GROUP, "resource": contract.PLURAL, "namespace": namespace.name}
    await _until_granted(namespace.kube, {"user": GUEST}, {"verb": "list", **job})


async def _until_known(kube: Kube, namespace: str) -> None:
    job = {"group": contract.GROUP, "resource": contract.PLURAL, "namespace": namespace}
    pools = {"resource": "configmaps", "name": contract.POOLS_CONFIGMAP}
    pools["namespace"] = contract.SYSTEM_NAMESPACE
    groups = [contract.RESEARCHERS_GROUP, "system:authenticated"]
    for attributes in ({"verb": "create", **job}, {"verb": "get", **pools}):
        await _until_granted(kube, {"user": RESEARCHER, "groups": groups}, attributes)


async def _until_granted(kube: Kube, person: dict[str, Any], attributes: dict[str, str]) -> None:
    """The authorizer learns of roles a moment after they are stored, and tells nobody."""
    spec = {**person, "resourceAttributes": attributes}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    async with asyncio.timeout(WAIT_SECONDS):
        while not (await kube.create(REVIEWS, "", review))["status"]["allowed"]:
            await asyncio.sleep(0.05)
