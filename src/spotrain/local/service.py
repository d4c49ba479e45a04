"""Run a job of the shelf to its end, and heed what becomes of its document meanwhile."""

import asyncio
import contextlib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from spotrain.controller.stored import read_status
from spotrain.job import parse_job
from spotrain.local import interruptions
from spotrain.local.engine import Engine
from spotrain.local.image import Image
from spotrain.local.machines import Options
from spotrain.local.shelf import NoSuchJob, StoredJob

LOOK_SECONDS = 0.2
"""Between two looks at the job's document: what a person types may take so long to be heeded."""
GOODBYE_SECONDS = 10.0
"""For workers of a job that has ended, which leave by themselves; then they are killed."""


async def run_job(stored: StoredJob, tell: Callable[[str], None]) -> bool:
    """Run the job until it has ended or is deleted; a deleted one is removed when its workers are
    gone. `tell` hears what happens. Returns whether it succeeded.

    Whoever calls it holds `stored.running()`.

    Raises:
        OSError: the coordinator's port is taken, or the folder cannot be written.
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
    async with engine.running(), asyncio.TaskGroup() as group:
        heeding = group.create_task(_heed(stored, engine))
        await engine.until(
            lambda: engine.status.finished or (heeding.done() and not engine.machines.pods)
        )
        heeding.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GOODBYE_SECONDS):
                await engine.until(lambda: all(pod.is_over for pod in engine.machines.pods))
    tell_news()
    if heeding.done() and not heeding.cancelled():
        stored.remove_run()
        return False
    return engine.report().outcome == "succeeded"


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
        read_status(document.get("status")),
        created_at=datetime.fromisoformat(document["metadata"]["creationTimestamp"]),
    )


async def _heed(stored: StoredJob, engine: Engine) -> None:
    """Hand every change of the document to the engine, and interrupt whom a drill names; returns
    when the job is deleted."""
    seen = engine.job.generation
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        for manner, pod in interruptions.take(stored.folder):
            engine.machines.interrupt(manner, pod)
        with contextlib.suppress(NoSuchJob):
            document = stored.spec()
            if document["metadata"]["generation"] == seen:
                continue
            seen = document["metadata"]["generation"]
            engine.change(parse_job(document))
            if document["metadata"].get("deletionTimestamp"):
                return
