"""The archive as a pod of the process kubelet, with the rights of k8s/archive.yaml and no other."""

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import yaml

from spotrain import contract
from spotrain.archive.client import Client
from spotrain.archive.settings import ENV_ADDRESS, ENV_FOLDER, ENV_OUTPUT
from spotrain.cli.archive import archive_of
from spotrain.cli.cluster import connected
from spotrain.cli.errors import UserError
from spotrain.kinds import PODS, Object
from spotrain.local.kubelet import Kubelet
from tests.cluster.cluster import ACCOUNTS, KINDS, REPOSITORY, Namespace, request_token
from tests.cluster.nodes.pods import in_phase, until_pod
from tests.cluster.server import ISSUER

T = TypeVar("T")
RBAC = "rbac.authorization.k8s.io"
NAME = contract.ARCHIVE_NAME
PATIENCE_SECONDS = 120.0


@dataclass
class ArchivePod:
    place: Namespace
    kubelet: Kubelet

    @property
    def folder(self) -> Path:
        """Where it keeps ledger and logs."""
        return self.kubelet.options.folder / "archive"

    async def start(self) -> None:
        await self._grant()
        await self.create()

    async def create(self) -> None:
        token = await request_token(self.place.kube, self.place.name, NAME, audience=ISSUER)
        kubeconfig = self.place.server.kubeconfig(f"archive-{self.place.name}", token)
        output = self.kubelet.options.folder / "shared" / contract.OUTPUT_DIR
        for folder in (self.folder, output):
            folder.mkdir(parents=True, exist_ok=True)
        variables = {
            "KUBECONFIG": str(kubeconfig),
            "PYTHONPATH": ":".join(path for path in sys.path if path),
            contract.ENV_JOB_NAMESPACE: self.place.name,
            ENV_FOLDER: str(self.folder),
            ENV_OUTPUT: str(output),
        }
        address = {"valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
        env: list[Object] = [{"name": key, "value": value} for key, value in variables.items()]
        env.append({"name": ENV_ADDRESS, **address})  # pods share this machine's loopback
        container = {"command": [sys.executable, "-m", "spotrain.archive"], "env": env}
        document = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": NAME, "labels": {"app.kubernetes.io/name": NAME}},
            "spec": {
                "restartPolicy": "Always",
                "containers": [{"name": "archive", "image": "any", **container}],
            },
        }
        await self.place.kube.create(PODS, self.place.name, document)
        await until_pod(self.place.kube, self.place.name, NAME, in_phase("Running"))
        await self.until(lambda client: client.jobs(), lambda _: True)

    async def _grant(self) -> None:
        kube, namespace = self.place.kube, self.place.name
        for document in yaml.safe_load_all((REPOSITORY / "k8s/archive.yaml").read_text()):
            await kube.apply(KINDS[document["kind"]], "", document)
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME}}
        await kube.create(ACCOUNTS, namespace, account)
        subject = {"kind": "ServiceAccount", "name": NAME, "namespace": namespace}
        for kind, role, where in (
            ("RoleBinding", f"{NAME}-jobs", namespace),
            ("ClusterRoleBinding", NAME, ""),
        ):
            reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
            name = role if where else f"{role}-{namespace}"
            body = {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}
            await kube.create(KINDS[kind], where, body)

    async def ask(self, question: Callable[[Client], T]) -> T:
        """As `spotrain` asks, through a forwarded port."""
        return await asyncio.to_thread(self._ask, question)

    def _ask(self, question: Callable[[Client], T]) -> T:
        with connected(None, self.place.name) as cluster, archive_of(cluster) as client:
            return question(client)

    async def until(self, question: Callable[[Client], T], holds: Callable[[T], bool]) -> T:
        """The answer, once it is that; it is asked again and again, whether the archive runs
        meanwhile or not."""
        answer: object = None
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while True:
                    try:
                        found = await self.ask(question)
                    except UserError as error:
                        answer = error
                    else:
                        answer = found
                        if holds(found):
                            return found
                    await asyncio.sleep(0.2)
        except TimeoutError:
            raise AssertionError(f"the last answer was {answer!r}") from None
