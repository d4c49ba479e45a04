"""One namespace of the real API server, and a controller process for it."""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from spotrain import contract, kinds
from spotrain.controller.environment import CA_FILE
from spotrain.controller.kube import LOST, Conflict, Kube, NotFound
from spotrain.controller.lease import NAME as lease_name
from spotrain.controller.mirror import Mirror
from spotrain.controller.pod import CA_CONFIGMAP
from spotrain.controller.settings import (
    ENV_COORDINATOR_PORT,
    ENV_LISTEN_ADDRESS,
    ENV_NODE_LOST_SECONDS,
    ENV_PROBE_PORT,
)
from spotrain.kinds import LEASES, Kind, Object
from tests.cluster.server import ApiServer, free_port

REPOSITORY = Path(__file__).parents[2]
WAIT_SECONDS = 60.0
NAMESPACES = Kind("/api/v1", "namespaces")
ACCOUNTS = Kind("/api/v1", "serviceaccounts")
CRDS = Kind("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions")
VOLUMES = Kind("/api/v1", "persistentvolumes")
CLAIMS = Kind("/api/v1", "persistentvolumeclaims")
BINDINGS = Kind("/apis/rbac.authorization.k8s.io/v1", "rolebindings")
KINDS = {
    "Namespace": NAMESPACES,
    "ServiceAccount": ACCOUNTS,
    "ClusterRole": Kind("/apis/rbac.authorization.k8s.io/v1", "clusterroles"),
    "ClusterRoleBinding": Kind("/apis/rbac.authorization.k8s.io/v1", "clusterrolebindings"),
    "Role": Kind("/apis/rbac.authorization.k8s.io/v1", "roles"),
    "RoleBinding": BINDINGS,
    "CustomResourceDefinition": CRDS,
}


async def install(kube: Kube) -> None:
    """The platform's own manifests, as `kubectl apply` would take them."""
    for file in ("crd.yaml", "rbac.yaml"):
        for document in yaml.safe_load_all((REPOSITORY / "k8s" / file).read_text()):
            namespace = document["metadata"].get("namespace", "")
            await kube.apply(KINDS[document["kind"]], namespace, document)
    await until(kube, CRDS, "", lambda items: any(map(is_established, items)))


def is_established(crd: Object) -> bool:
    """Are objects of this kind accepted by now?"""
    conditions = (crd.get("status") or {}).get("conditions") or []
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


async def until(
    kube: Kube, kind: Kind, namespace: str, holds: Callable[[list[Object]], bool]
) -> list[Object]:
    """The objects of the kind, as soon as something holds of them."""
    changed = asyncio.Event()
    mirror = Mirror[Object](
        kind=kind,
        parse=lambda item: item,
        changed=lambda *_: changed.set(),
        namespace=namespace,
    )
    following = asyncio.create_task(mirror.follow(kube))
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            await mirror.synced.wait()
            while not holds(list(mirror.items.values())):
                await changed.wait()
                changed.clear()
        return list(mirror.items.values())
    finally:
        following.cancel()


async def remove(kube: Kube, kind: Kind, namespace: str, name: str) -> None:
    """Whatever has the name now."""
    found = await kube.get(kind, namespace, name)
    await kube.delete(kind, namespace, name, uid=found["metadata"]["uid"])


@dataclass
class Namespace:
    """Where one test's job lives."""

    server: ApiServer
    kube: Kube
    name: str

    async def create(self) -> None:
        metadata = {"metadata": {"name": self.name}}
        await self.kube.create(
            NAMESPACES, "", {"apiVersion": "v1", "kind": "Namespace", **metadata}
        )
        # In a whole cluster its controller manager makes this one, a moment later.
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        with contextlib.suppress(Conflict):
            await self.kube.create(ACCOUNTS, self.name, account)
        await self.kube.create(BINDINGS, self.name, _binding())

    async def submit(
        self, name: str, replicas: int, *, resources: Mapping[str, Any] | None = None, **spec: Any
    ) -> Object:
        """A job of that many workers; `spec` goes over what is said of it here."""
        container = {
            "name": contract.WORKER_CONTAINER,
            "image": "none",
            "resources": resources or {},
        }
        worker = {"replicas": replicas, "template": {"spec": {"containers": [container]}}}
        body = {
            "apiVersion": contract.API_VERSION,
            "kind": contract.KIND,
            "metadata": {"name": name, "namespace": self.name},
            "spec": {
                "minReplicas": replicas,
                "maxReplicas": replicas,
                **spec,
                "replicaSpecs": {contract.WORKER: worker},
            },
        }
        return await self.kube.create(kinds.JOBS, self.name, body)

    async def claim(self, name: str) -> None:
        """A claim and the volume behind it, as the stack makes them for shared files."""
        volume = f"{self.name}-{name}"
        common = {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
        }
        size = {"storage": "1Gi"}
        claim = {"namespace": self.name, "name": name}
        source = {"nfs": {"server": "files.invalid", "path": "/"}}
        await self.kube.create(
            VOLUMES,
            "",
            {
                "metadata": {"name": volume},
                "spec": {**common, "capacity": size, "claimRef": claim, **source},
            },
        )
        spec = {**common, "volumeName": volume, "resources": {"requests": size}}
        await self.kube.create(CLAIMS, self.name, {"metadata": {"name": name}, "spec": spec})

    async def until_pods(self, holds: Callable[[list[Object]], bool]) -> list[Object]:
        return await until(self.kube, kinds.PODS, self.name, holds)

    async def until_job(self, holds: Callable[[Object], bool]) -> Object:
        found = await until(self.kube, kinds.JOBS, self.name, lambda items: any(map(holds, items)))
        return next(filter(holds, found))

    async def set_pod_status(self, pod: Object, **status: Any) -> None:
        name = pod["metadata"]["name"]
        await self.kube.patch(kinds.PODS, self.name, name, {"status": status}, subresource="status")

    async def delete_pod(self, pod: Object) -> None:
        metadata = pod["metadata"]
        await self.kube.delete(
            kinds.PODS, self.name, metadata["name"], uid=metadata["uid"], grace_seconds=0
        )

    async def evict(self, name: str) -> None:
        """As `kubectl drain` does with each pod of a node."""
        evictions = Kind(f"/api/v1/namespaces/{self.name}/pods/{name}", "eviction")
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        await self.kube.create(evictions, "", body)

    async def token_of(self, pod: Object) -> str:
        """What the kubelet would project into the pod."""
        reference = {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"]}
        reference["uid"] = pod["metadata"]["uid"]
        return await request_token(
            self.kube, self.name, "default", audience=contract.TOKEN_AUDIENCE, bound_to=reference
        )

    async def authority(self) -> str:
        """The CA that the controller has handed to this namespace."""

        def is_there(items: list[Object]) -> bool:
            return any(item["metadata"]["name"] == CA_CONFIGMAP for item in items)

        await until(self.kube, kinds.CONFIG_MAPS, self.name, is_there)
        found = await self.kube.get(kinds.CONFIG_MAPS, self.name, CA_CONFIGMAP)
        text: str = found["data"][CA_FILE]
        return text


def _binding() -> Object:
    """As k8s/rbac.yaml says in its head: rights over jobs, in this namespace alone."""
    group = "rbac.authorization.k8s.io"
    role = f"{contract.CONTROLLER_NAME}-jobs"
    account = {"kind": "ServiceAccount", "name": contract.CONTROLLER_NAME}
    return {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": role},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{**account, "namespace": contract.SYSTEM_NAMESPACE}],
    }


async def request_token(
    kube: Kube, namespace: str, account: str, *, audience: str, bound_to: Object | None = None
) -> str:
    tokens = Kind(f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}", "token")
    spec: Object = {"audiences": [audience], "expirationSeconds": 3600}
    if bound_to:
        spec["boundObjectRef"] = bound_to
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    token: str = (await kube.create(tokens, "", body))["status"]["token"]
    return token


@dataclass
class ControllerProcess:
    """`python -m spotrain.controller`, with its own rights and for one namespace."""

    kubeconfig: Path
    namespace: str
    kube: Kube
    """The test's own rights."""
    port: int = field(default_factory=free_port)
    probes: int = field(default_factory=free_port)
    address: str = "0.0.0.0"
    node_lost_seconds: float = 2.0
    environment: Mapping[str, str] = field(default_factory=dict)
    """Further settings."""
    log: list[str] = field(default_factory=list)
    logged: asyncio.Condition = field(default_factory=asyncio.Condition)
    process: asyncio.subprocess.Process | None = None
    reading: "asyncio.Task[None] | None" = None

    async def start(self) -> None:
        self.log.clear()
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "spotrain.controller",
            env={
                "KUBECONFIG": str(self.kubeconfig),
                "PYTHONPATH": ":".join(path for path in sys.path if path),
                contract.ENV_JOB_NAMESPACE: self.namespace,
                ENV_COORDINATOR_PORT: str(self.port),
                ENV_PROBE_PORT: str(self.probes),
                ENV_LISTEN_ADDRESS: self.address,
                ENV_NODE_LOST_SECONDS: str(self.node_lost_seconds),
                **self.environment,
            },
            stderr=asyncio.subprocess.PIPE,
        )
        self.reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process
        assert self.process.stderr
        async for line in self.process.stderr:
            async with self.logged:
                self.log.append(line.decode().rstrip())
                self.logged.notify_all()

    async def until_serving(self) -> None:
        """It leads, and knows the cluster."""
        await self.until_logged("serving the agents")

    async def until_logged(self, text: str, *, times: int = 1) -> None:
        async with asyncio.timeout(WAIT_SECONDS), self.logged:
            await self.logged.wait_for(lambda: sum(text in line for line in self.log) >= times)

    async def stop(self) -> None:
        """As when its pod is deleted: it is told, and hands over."""
        assert self.process
        assert self.reading
        self.process.terminate()
        async with asyncio.timeout(WAIT_SECONDS):
            await self.process.wait()
            await self.reading

    async def kill(self, *, wait_for_lease: bool = False) -> None:
        """Without a word, as when its node is gone. Unless the test is about the wait for its
        Lease to run out, the next controller is spared that."""
        if self.process and self.process.returncode is None:
            self.process.kill()
        if self.process and self.reading:
            await self.process.wait()
            await self.reading
        if not wait_for_lease:
            await drop_lease(self.kube)


async def drop_lease(kube: Kube) -> None:
    with contextlib.suppress(NotFound, *LOST):
        await remove(kube, LEASES, contract.SYSTEM_NAMESPACE, lease_name)
