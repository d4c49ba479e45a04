"""Play a job on this machine in the foreground, and show it."""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from spotrain import contract
from spotrain.cli.errors import CONFLICT, INTERRUPTED, JOB_FAILED, UserError
from spotrain.cli.job_text import course
from spotrain.cli.job_view import view
from spotrain.cli.local_archive import opened_local_archive
from spotrain.cli.local_jobs import ENV_FOLDER, kept, own_shelf, unusable
from spotrain.cli.output import REFRESHES_PER_SECOND, say
from spotrain.cli.pacing import Pace
from spotrain.cli.script import refuse_missing_in_document
from spotrain.cli.status import draw
from spotrain.counts import count
from spotrain.explain.ends import nothing_left
from spotrain.job import InvalidDocument, parse_job
from spotrain.local.image import NotLocal
from spotrain.local.service import FolderGone, run_job
from spotrain.local.shelf import (
    MACHINES,
    AlreadyRun,
    NameTaken,
    NoSuchJob,
    Settings,
    Shelf,
    StoredJob,
)
from spotrain.next_command import next_command

LOOK_SECONDS = 1.0
"""Between two looks whether a line of progress is due."""
LAST_LINES = 15
"""Of a failed worker's log."""


def make_settings(
    shelf: Shelf,
    *,
    workdir: Path = Path(),
    volumes: Mapping[str, Path] | None = None,
    machines: int = MACHINES,
    port: int = 0,
    pools: str = "",
) -> Settings:
    """The shared volume is a folder of the shelf, unless another one is given.

    Raises:
        UserError: a folder that is not there.
    """
    for option, folder in {"--workdir": workdir, **(volumes or {})}.items():
        if not folder.is_dir():
            what = option if option == "--workdir" else f"--volume {option}"
            raise UserError(f"{what}: {folder} is no folder on this machine; create it first.")
    found = {contract.VOLUME_CLAIM: shelf.volume, **(volumes or {})}
    if found[contract.VOLUME_CLAIM] == shelf.volume:
        make_volume(shelf)
    return Settings(
        workdir=str(workdir.resolve()),
        volumes={claim: str(folder.resolve()) for claim, folder in found.items()},
        machines=machines,
        port=port,
        pools=pools,
    )


def make_volume(shelf: Shelf) -> None:
    """Raises UserError where jobs cannot be kept."""
    try:
        for name in (contract.DATA_DIR, contract.OUTPUT_DIR):
            (shelf.volume / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{shelf.root}: jobs of this machine cannot be kept there: {error.strerror}. Go to a "
            f"folder that you may write, or name one by {ENV_FOLDER}."
        ) from None


def run_here(document: Mapping[str, Any], settings: Settings) -> None:
    """Run the job to its end. One of its name that nobody runs any more gives way to it.

    Raises:
        UserError: it cannot run here, or it failed.
    """
    with ExitStack() as running:
        stored = _add(own_shelf(), document, settings, running)
        succeeded = _play(stored)
    if not stored.job_file.exists():
        say(f"{stored.name} was deleted.")
        return
    if not succeeded:
        _show_last_lines(stored.name)
        raise UserError(
            f"{stored.name} failed. Next: {next_command('explain', stored.name, local=True)}",
            exit_code=JOB_FAILED,
        )
    output = Path(settings.volumes[contract.VOLUME_CLAIM]) / contract.OUTPUT_DIR
    print(f"{stored.name} succeeded. What it has written lies below {_near(output)}.")
    if said := nothing_left(view(stored.document(), local=True).status.history):
        print(said)
    print(f"Next: {next_command('report', stored.name, local=True)}")


def _play(stored: StoredJob) -> bool:
    """Whether it succeeded. Raises UserError: it cannot run here, or Ctrl-C."""
    try:
        with _display(stored) as tell:
            return asyncio.run(_run(stored, tell))
    except NotLocal as error:
        raise UserError(str(error)) from None
    except FolderGone as error:
        raise UserError(str(error), exit_code=JOB_FAILED) from None
    except InvalidDocument as error:
        raise unusable(error) from None
    except OSError as error:
        raise UserError(f"the job cannot run here: {error}", exit_code=JOB_FAILED) from None
    except KeyboardInterrupt:
        raise UserError(
            f"interrupted: {stored.name} and its workers have ended. Next: "
            f"{next_command('resume', stored.name, local=True)} goes on from its last checkpoint.",
            exit_code=INTERRUPTED,
        ) from None


async def _run(stored: StoredJob, tell: Callable[[str], None]) -> bool:
    """`run_job`, and where nothing is redrawn a line now and then of how far it is."""
    if sys.stdout.isatty():
        return await run_job(stored, tell)
    telling = asyncio.create_task(_tell_course(stored, tell))
    try:
        return await run_job(stored, tell)
    finally:
        telling.cancel()


async def _tell_course(stored: StoredJob, tell: Callable[[str], None]) -> None:
    pace = Pace()
    with contextlib.suppress(NoSuchJob, InvalidDocument):  # its engine finds that, and ends
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            line = course(view(stored.document()))
            if pace.is_due("", line):  # what happens is told by the job's own story
                tell(line)


def _add(
    shelf: Shelf, document: Mapping[str, Any], settings: Settings, running: ExitStack
) -> StoredJob:
    try:
        job = parse_job(document)
        if settings.machines < job.min_replicas:
            raise UserError(
                f"--machines {settings.machines}: the job needs "
                f"{count(job.min_replicas, 'worker')} at "
                "least, and each has a machine of its own."
            )
        refuse_missing_in_document(document, Path(settings.workdir), "which is --workdir")
        with kept(shelf):
            with contextlib.suppress(NoSuchJob):
                old = shelf.find(job.name)
                old.remove(old.uid)
            return shelf.add(document, settings, run_until=running)
    except InvalidDocument as error:
        raise unusable(error) from None
    except (AlreadyRun, NameTaken):  # taken: by another that has just begun
        raise _is_run(job.name) from None


def _is_run(name: str) -> UserError:
    watch = next_command("status", name, "--watch", local=True)
    delete = next_command("delete", name, local=True)
    return UserError(
        f"{name} already runs on this machine: {watch} shows it, {delete} ends it.",
        exit_code=CONFLICT,
    )


@contextmanager
def _display(stored: StoredJob) -> Iterator[Callable[[str], None]]:
    """Shows what it is told, and on a terminal below that the job as it is."""
    if not sys.stdout.isatty():
        yield lambda text: print(text, flush=True)
        return
    from rich.live import Live

    with Live(
        get_renderable=lambda: draw(view(stored.document(), local=True)),
        refresh_per_second=REFRESHES_PER_SECOND,
    ) as live:
        yield lambda text: live.console.print(text, markup=False, highlight=False)


def _show_last_lines(name: str) -> None:
    """Of the worker that has written last: what the job's own output says."""
    shelf = own_shelf()
    with opened_local_archive(shelf) as archive:
        lines = list(archive.logs(name))
    if lines:
        worker = lines[-1].worker
        tail = [line.line for line in lines if line.worker == worker][-LAST_LINES:]
        print(f"--- the last lines of worker {worker}", *tail, sep="\n", file=sys.stderr)


def _near(path: Path | str) -> str:
    """Relative to where the person is, if it lies there."""
    path = Path(path)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
