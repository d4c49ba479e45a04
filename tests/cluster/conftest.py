"""One API server for all tests of this folder; a namespace and a controller for each test."""

import itertools
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from spotrain import contract
from spotrain.controller.kube import Kube
from tests.cluster.cluster import ControllerProcess, Namespace, install, request_token
from tests.cluster.server import ISSUER, ApiServer, etcd_for_api_server

BINARIES = ("etcd", "kube-apiserver")
HERE = Path(__file__).parent
FORGOTTEN_SOCKETS = (
    "ignore:Exception ignored in. <function _SelectorTransport.__del__"
    ":pytest.PytestUnraisableExceptionWarning",
    "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning",
)
"""A task that is cancelled amid a TLS handshake leaves its socket to the garbage collector:
httpcore2's start_tls closes it after an Exception only. Whichever test comes next would fail."""
_numbers = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            for rule in FORGOTTEN_SOCKETS:
                item.add_marker(pytest.mark.filterwarnings(rule))


@pytest.fixture(scope="session")
def binaries() -> Path:
    given = os.environ.get("KUBEBUILDER_ASSETS", "")
    missing = [name for name in BINARIES if not (Path(given) / name).is_file()]
    if not given or missing:
        pytest.skip(
            f"needs a real API server: set KUBEBUILDER_ASSETS to a folder with "
            f"{' and '.join(missing or BINARIES)}"
        )
    return Path(given)


@pytest.fixture(scope="session")
def server(binaries: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    folder = tmp_path_factory.mktemp("cluster")
    with etcd_for_api_server(binaries, folder) as made, made.running():
        yield made


@pytest.fixture
async def namespace(server: ApiServer) -> AsyncIterator[Namespace]:
    async with server.client() as http:
        yield await made_namespace(server, server.kube(http))


async def made_namespace(server: ApiServer, kube: Kube) -> Namespace:
    made = Namespace(server, kube, f"test-{next(_numbers)}")
    await install(kube)
    await made.create()
    return made


@pytest.fixture
async def controller(namespace: Namespace) -> AsyncIterator[ControllerProcess]:
    """Not started yet. It has the rights of k8s/rbac.yaml and no other."""
    async with controller_for(namespace) as process:
        yield process


@asynccontextmanager
async def controller_for(
    namespace: Namespace, *, outage: bool = False
) -> AsyncIterator[ControllerProcess]:
    """`outage`: the API server starts anew; until it has read the roles it refuses everybody."""
    token = await request_token(
        namespace.kube, contract.SYSTEM_NAMESPACE, contract.CONTROLLER_NAME, audience=ISSUER
    )
    kubeconfig = namespace.server.kubeconfig(namespace.name, token)
    process = ControllerProcess(kubeconfig, namespace.name, namespace.kube)
    try:
        yield process
    finally:
        await process.kill()
        print("\n".join(process.log))  # shown by pytest where a test fails
    refused = [
        line for line in process.log if "answers 403" in line and "exceeded quota" not in line
    ]
    assert outage or not refused, "a right is missing in k8s/rbac.yaml"
