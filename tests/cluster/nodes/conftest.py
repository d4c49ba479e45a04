"""A whole cluster for all tests of this folder, with nodes whose pods are processes."""

import itertools
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spotrain import contract
from spotrain.controller.kube import Kube
from spotrain.local.image import Image
from spotrain.local.kubelet import Kubelet, NodeSpec, Options
from tests.cluster.cluster import REPOSITORY, Namespace, install
from tests.cluster.control_plane import (
    BINARIES,
    HEARTBEAT_SECONDS,
    ControlPlane,
    control_plane,
)

_numbers = itertools.count(1)
_NET = f"127.{os.getpid() % 250 + 1}.{os.getpid() // 250 % 250 + 1}"
COORDINATORS = (f"{_NET}.1", f"{_NET}.2")
"""This run's own, since the port is the same for all."""
HOSTS = {
    f"{contract.COORDINATOR_SERVICE}.{contract.SYSTEM_NAMESPACE}.svc": COORDINATORS,
    "service.example": ["127.8.8.8"],
}
"""What cluster DNS would say."""


@pytest.fixture(scope="session")
def plane(binaries: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    missing = [name for name in BINARIES if not (binaries / name).is_file()]
    if missing:
        pytest.skip(f"needs a whole control plane: KUBEBUILDER_ASSETS has no {missing[0]}")
    with control_plane(binaries, tmp_path_factory.mktemp("plane")) as made:
        yield made


@pytest.fixture
async def kube(plane: ControlPlane) -> AsyncIterator[Kube]:
    async with plane.server.client() as http:
        yield plane.server.kube(http)


@pytest.fixture
async def place(plane: ControlPlane, kube: Kube) -> Namespace:
    return await new_place(plane, kube)


@pytest.fixture
async def kubelet(plane: ControlPlane, kube: Kube, tmp_path: Path) -> AsyncIterator[Kubelet]:
    async with running_kubelet(kube, tmp_path, plane.server.kubelet_client) as running:
        yield running


@pytest.fixture
async def node(kubelet: Kubelet, place: Namespace) -> str:
    """The name of the only one on which pods of this test can run."""
    name = f"{place.name}-a"
    await kubelet.add(NodeSpec(name=name))
    return name


async def new_place(plane: ControlPlane, kube: Kube) -> Namespace:
    """A namespace of the whole cluster, with the platform installed."""
    made = Namespace(plane.server, kube, f"nodes-{next(_numbers)}")
    await install(kube)
    await made.create()
    return made


@asynccontextmanager
async def running_kubelet(
    kube: Kube, folder: Path, api_authority: Path | None = None, **changes: Any
) -> AsyncIterator[Kubelet]:
    """Without nodes as yet. Its containers run in the repository's root. `changes`: of Options."""
    options = Options(
        folder=folder / "kubelet",
        image=Image(workdir=REPOSITORY),
        claims={"efs": folder / "efs"},
        images={"spotrain-training": Image(workdir=REPOSITORY / "training-image")},
        hosts=HOSTS,
        heartbeat_seconds=HEARTBEAT_SECONDS,
        crash_backoff_seconds=0.2,
        api_authority=api_authority,
    )
    async with Kubelet(kube, replace(options, **changes)).running() as running:
        yield running
        for name in list(running.machines):
            await running.remove(name)
