"""The process in the cluster: it keeps ledger and logs, and serves them."""

import asyncio
import fcntl
import logging
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import httpx2
import uvicorn
from lightkube import KubeConfig
from lightkube.config import client_adapter

from spotrain.archive import code, layout
from spotrain.archive.errors import ArchiveError
from spotrain.archive.file_work import FileWork, Pulse
from spotrain.archive.ledger_keeper import LedgerKeeper
from spotrain.archive.log_keeper import LogKeeper
from spotrain.archive.server import Archive, Service
from spotrain.archive.settings import Settings
from spotrain.controller.connection import connected
from spotrain.controller.process import run_process

logger = logging.getLogger(__name__)

HUNG_SECONDS: Final = 30.0
LOCK_SECONDS: Final = 2.0
SWEEP_SECONDS: Final = 3600.0
GOODBYE_SECONDS: Final = 3


async def run(settings: Settings) -> None:
    """Never returns."""
    pulses = (Pulse("ledger", settings.folder), Pulse("output", settings.output))
    waiting = ["another archive writes the ledger, or the volume does not answer"]
    archive = Archive(
        folder=settings.folder,
        output=settings.output,
        problems=lambda: {
            **{pulse.name: said for pulse in pulses if (said := _problem(pulse))},
            **({"keeper": waiting[0]} if waiting else {}),
        },
    )
    async with asyncio.TaskGroup() as group:
        for pulse in pulses:
            group.create_task(pulse.beat())
        group.create_task(_serve(Service(archive), settings))
        group.create_task(_sweep(settings))
        await _keep(settings, waiting)


def _problem(pulse: Pulse) -> str:
    if pulse.silent_seconds > HUNG_SECONDS:
        return f"the volume has not answered for {pulse.silent_seconds:.0f} s"
    return pulse.problem


async def _keep(settings: Settings, waiting: list[str]) -> None:
    """Beside an older archive that has not ended yet, this one only reads."""
    files = FileWork("ledger", threads=1)
    lock = await files.run_to_end(_open_lock, settings)
    while not await files.run_to_end(_take_lock, lock):
        await asyncio.sleep(LOCK_SECONDS)
    waiting.clear()
    logger.info("writing down the jobs of %s", settings.namespace)
    async with connected() as kube, _many_connections() as http, asyncio.TaskGroup() as group:
        namespace, folder = settings.namespace, settings.folder
        keeper = LedgerKeeper(kube, namespace, folder, files, settings.retention)
        group.create_task(keeper.run())
        logs_files = FileWork("logs", threads=1)
        logs = LogKeeper(kube, http, namespace, folder, logs_files, retention=settings.retention)
        group.create_task(logs.run())


def _open_lock(settings: Settings) -> int:
    path = settings.folder / layout.LOCK_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o640)


def _take_lock(descriptor: int) -> bool:
    """The kernel, or the file server when its client is gone, gives it back."""
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@asynccontextmanager
async def _many_connections() -> AsyncIterator[httpx2.AsyncClient]:
    """One for each pod whose log is followed."""
    config = KubeConfig.from_env().get()
    assert config is not None, "connected() has read it"
    assert config.user is not None
    tls = client_adapter.verify_cluster(config.cluster, config.user, config.abs_file)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
    transport = httpx2.AsyncHTTPTransport(verify=tls, limits=limits)
    auth = client_adapter.user_auth(config.user)
    async with httpx2.AsyncClient(
        base_url=config.cluster.server, auth=auth, transport=transport
    ) as http:
        yield http


async def _sweep(settings: Settings) -> None:
    files = FileWork("output/", threads=1)
    while True:
        try:
            await files.run_to_end(code.sweep, settings.output, time.time())
        except (ArchiveError, OSError, RecursionError) as error:
            # Jobs write there: what one of them puts in its way must not end ledger and logs too.
            logger.warning("what uploads left in output/ could not be removed: %s", error)
        await asyncio.sleep(SWEEP_SECONDS)


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are for `run_process`."""
        yield


async def _serve(service: Service, settings: Settings) -> None:
    config = uvicorn.Config(
        service.app,
        host=settings.address,
        port=settings.port,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=200,
        timeout_graceful_shutdown=GOODBYE_SECONDS,
    )
    await _Server(config).serve()


def main() -> int:
    return run_process(Settings.read, run, farewell="the next one goes on where it was")
