"""A real API server with its etcd, without nodes: tests tell how the pods live."""

import contextlib
import os
import random
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from spotrain import contract
from spotrain.agent import tether
from spotrain.controller.kube import Kube
from tests.cluster.client_certificate import write_client_certificate

ADMIN_TOKEN = "admin-of-tests"
RESEARCHER = "ada"
RESEARCHER_TOKEN = "researcher-of-tests"
GUEST, GUEST_TOKEN = "guest", "guest-of-tests"
"""Somebody whom the cluster knows, without a right."""
ISSUER = "https://tests.invalid"
START_SECONDS = 60.0
CONNECTIONS = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""The first and the last of the ports that connections are given."""
AUDIT_POLICY = f"""
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
    users: ["system:serviceaccount:{contract.SYSTEM_NAMESPACE}:{contract.CONTROLLER_NAME}"]
  - level: None
"""


@dataclass(frozen=True)
class ApiServer:
    url: str
    authority: Path
    """The certificate that it has signed itself."""
    folder: Path
    command: list[str]
    """Starts it; everything that it knows is in etcd."""

    @property
    def kubelet_client(self) -> Path:
        """The certificate by which it shows itself to kubelets, signed by itself."""
        return self.folder / "kubelet-client.crt"

    @property
    def audit_log(self) -> Path:
        """What the controller has asked for, a JSON object a line, and the answer's code."""
        return self.folder / "audit.log"

    @contextmanager
    def running(self) -> Iterator["subprocess.Popen[bytes]"]:
        """Ready when the context is entered."""
        log = self.folder / "api-server.log"
        with running(log, self.command) as process:
            _await_ready(self, process, log)
            yield process

    def client(self, token: str = ADMIN_TOKEN) -> httpx2.AsyncClient:
        """For use as a context; `Kube` is made of it."""
        tls = ssl.create_default_context(cafile=self.authority)
        headers = {"Authorization": f"Bearer {token}"}
        return httpx2.AsyncClient(base_url=self.url, headers=headers, verify=tls)

    def kube(self, http: httpx2.AsyncClient) -> Kube:
        return Kube(http)

    def kubeconfig(self, name: str, token: str) -> Path:
        cluster = {"server": self.url, "certificate-authority": str(self.authority)}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": {"token": token}}],
        }
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(yaml.safe_dump(document))
        path.chmod(0o600)
        return path


@contextmanager
def etcd_for_api_server(binaries: Path, folder: Path) -> Iterator[ApiServer]:
    """Start etcd; the API server over it is `running()` as often as a test wants."""
    (folder / "audit-policy.yaml").write_text(AUDIT_POLICY)
    people = (
        f'{ADMIN_TOKEN},admin,admin,"system:masters"\n'
        f'{RESEARCHER_TOKEN},{RESEARCHER},{RESEARCHER},"{contract.RESEARCHERS_GROUP}"\n'
        f"{GUEST_TOKEN},{GUEST},{GUEST}\n"
    )
    (folder / "tokens").write_text(people)
    _write_key(folder / "accounts.key")
    write_client_certificate(folder / "kubelet-client")
    with _etcd(binaries, folder) as etcd:
        server = ApiServer(
            url=f"https://127.0.0.1:{free_port()}",
            authority=folder / "certificates" / "apiserver.crt",
            folder=folder,
            command=[],
        )
        server.command.extend(_api_command(server, binaries, etcd))
        yield server


@contextmanager
def _etcd(binaries: Path, folder: Path) -> Iterator[str]:
    clients, peers = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    command = [
        str(binaries / "etcd"),
        f"--data-dir={folder / 'etcd'}",
        "--unsafe-no-fsync",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
    ]
    with running(folder / "etcd.log", command):
        yield clients


def _api_command(server: ApiServer, binaries: Path, etcd: str) -> list[str]:
    return [
        str(binaries / "kube-apiserver"),
        f"--etcd-servers={etcd}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={server.url.rpartition(':')[2]}",
        f"--cert-dir={server.authority.parent}",
        f"--token-auth-file={server.folder / 'tokens'}",
        "--authorization-mode=RBAC",
        # Stricter than most clusters: who makes a pod that blocks its owner's deletion must be
        # allowed to.
        "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
        f"--audit-policy-file={server.folder / 'audit-policy.yaml'}",
        f"--audit-log-path={server.audit_log}",
        # What makes service account tokens, and reviews them.
        f"--service-account-issuer={ISSUER}",
        f"--service-account-key-file={server.folder / 'accounts.key'}",
        f"--service-account-signing-key-file={server.folder / 'accounts.key'}",
        "--service-cluster-ip-range=10.0.0.0/24",
        # How it reaches the kubelets, for logs and forwarded ports.
        f"--kubelet-client-certificate={server.kubelet_client}",
        f"--kubelet-client-key={server.kubelet_client.with_suffix('.key')}",
        "--kubelet-preferred-address-types=InternalIP",
    ]


def free_port() -> int:
    """Below those that the kernel gives to connections, one of which might take it before the
    server does that it is meant for."""
    first = int(CONNECTIONS.read_text().split()[0])
    while True:
        port = random.SystemRandom().randrange(10_000, max(first, 20_000))
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("", port))
            return port


@contextmanager
def running(log: Path, command: list[str]) -> Iterator["subprocess.Popen[bytes]"]:
    """A server until the context is left. It ends with this process, whatever ends this one."""
    tied = [sys.executable, "-S", "-E", tether.__file__, *command]
    environment = {"PATH": os.defpath, tether.ENV_TETHER_PARENT: str(os.getpid())}
    with log.open("ab") as output:
        process = subprocess.Popen(tied, stdout=output, stderr=output, env=environment)
    try:
        yield process
    finally:
        process.kill()  # nothing of it is kept
        process.wait()


def _await_ready(server: ApiServer, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """It tells nobody when it is ready, so it has to be asked."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            tls = ssl.create_default_context(cafile=server.authority)
            headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
            if httpx2.get(f"{server.url}/readyz", verify=tls, headers=headers).is_success:
                return
        except (httpx2.TransportError, OSError):
            pass  # not listening yet, or its certificate is not written yet
        time.sleep(0.1)
    end = "\n".join(log.read_text().splitlines()[-20:])
    raise RuntimeError(f"the API server was not ready within {START_SECONDS:.0f} s:\n{end}")


def _write_key(path: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    path.write_bytes(pem)
    path.chmod(0o600)
