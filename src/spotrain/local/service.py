"""Run a job of the shelf to its end, and heed what becomes of its document meanwhile."""

import asyncio
import contextlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from spotrain.controller.stored import read_status
from spotrain.job import parse_job
from spotrain.local import interruptions
from spotrain.local.absence import without_process
from spotrain.local.alongside import alongside
from spotrain.local.engine import Engine
from spotrain.local.image import Image
from spotrain.local.machines import Options
from spotrain.local.shelf import StoredJob
from spotrain.next_command import next_command

LOOK_SECONDS = 0.2
"""Between two looks at the job's document: what a person types may take so long to be heeded."""
GOODBYE_SECONDS = 10.0
"""For workers of a job that has ended, which leave by themselves; then they are killed."""


async def run_job(stored: StoredJob, tell: Callable[[str], None]) -> bool:
    """Run the job until it has ended or is deleted; a deleted one is removed when its workers are
    gone. `tell` hears what happens. Returns whether it succeeded.

    Whoever calls it holds `stored.running()`.

    Raises:
        FolderGone: what is kept of the job was removed; its workers are gone too.
        OSError: the coordinator's port is taken, or the folder cannot be written.
        InvalidDocument: somebody has spoilt the job's document.
        NotLocal: the job needs what only a cluster has.
    """
    engine = load_engine(stored)
    told = 0

    def tell_news() -> None:
        nonlocal told
        for happening in engine.story[told:]:
            tell(happening.text)
        told = len(engine.story)

    engine.watchers.append(tell_news)
    deleted = asyncio.Event()
    try:
        async with engine.running(), alongside(_heed(stored, engine, deleted)):
            try:
                await _until_over(engine, deleted)
            finally:
                if not stored.is_kept(engine.job.uid):
                    engine.abandon()
    except OSError:
        if stored.is_kept(engine.job.uid):
            raise
        raise FolderGone(stored) from None
    tell_news()
    if deleted.is_set():
        stored.remove_run()
        return False
    return engine.report().outcome == "succeeded"


class FolderGone(OSError):
    """The folder of a job that runs was removed, and by no verb."""

    def __init__(self, stored: StoredJob) -> None:
        super().__init__(
            f"{stored.folder} was removed while {stored.name} ran: its workers have ended, and "
            "nobody can resume it. To end a job: "
            f"{next_command('delete', stored.name, local=True)}."
        )


async def _until_over(engine: Engine, deleted: asyncio.Event) -> None:
    machines = engine.machines
    await engine.until(lambda: engine.status.finished or (deleted.is_set() and not machines.pods))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(GOODBYE_SECONDS):
            await engine.until(lambda: all(pod.is_over for pod in machines.pods))


def load_engine(stored: StoredJob) -> Engine:
    """The engine, which goes on where an earlier one left off."""
    job, settings, pools = parse_job(stored.spec()), stored.settings(), stored.pools()
    options = Options(
        folder=stored.folder,
        archive=stored.archive,
        image=Image(workdir=Path(settings.workdir)),
        volumes={claim: Path(folder) for claim, folder in settings.volumes.items()},
        capacity=settings.machines,
        port=settings.port,
    )
    document = stored.document()
    return Engine(
        job,
        pools,
        options,
        without_process(
            read_status(document.get("status")), stored.last_alive, until=datetime.now(UTC)
        ),
        created_at=datetime.fromisoformat(document["metadata"]["creationTimestamp"]),
    )


async def _heed(stored: StoredJob, engine: Engine, deleted: asyncio.Event) -> None:
    """Hand every change of the document to the engine, and interrupt whom a drill names, until the
    job is `deleted`. Raises FolderGone."""
    seen = engine.job.generation
    while not deleted.is_set():
        await asyncio.sleep(LOOK_SECONDS)
        for manner, pod in interruptions.take(stored.folder):
            engine.machines.interrupt(manner, pod)
        if not stored.is_kept(engine.job.uid):
            raise FolderGone(stored)
        document = stored.spec()
        if document["metadata"]["generation"] == seen:
            continue
        seen = document["metadata"]["generation"]
        if document["metadata"].get("deletionTimestamp"):
            deleted.set()
            engine.delete(parse_job(document))
        else:
            engine.change(parse_job(document))
