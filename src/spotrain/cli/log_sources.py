"""Lines of workers: which of the archive's are asked for, and those of this machine."""

import contextlib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from spotrain.archive.records import JobLedger
from spotrain.cli.errors import NOT_FOUND, UserError
from spotrain.cli.local_jobs import LocalJobs, own_shelf
from spotrain.ledger.entries import WorldEntry
from spotrain.local.shelf import NoSuchJob, StoredJob

LOOK_SECONDS: Final = 0.2
_LOG: Final = re.compile(r"-worker-(\d+)-[0-9a-f]+\.log")


@dataclass(frozen=True)
class Line:
    worker: int
    text: str


def window_of(record: JobLedger, world: int) -> tuple[str, str]:
    """When a world lived: from its publication to its end, which is empty if it still does.

    Raises:
        UserError: there was none of the number.
    """
    worlds = [entry for entry in record.entries if isinstance(entry, WorldEntry)]
    found = next((entry for entry in worlds if entry.number == world), None)
    if found is None:
        known = f"there are {worlds[0].number} to {worlds[-1].number}" if worlds else "it had none"
        raise UserError(
            f"{record.job.name} had no world {world}; {known}.",
            exit_code=NOT_FOUND,
        )
    return stamp(found.published_at), stamp(found.ended_at) if found.ended_at else ""


def stamp(moment: datetime) -> str:
    """As `LogLine.at` is written, so that the two compare as text."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")


def local_lines(name: str, *, worker: int | None, follow: bool) -> Iterator[Line]:
    """What the job's workers on this machine have written, worker after worker; with `follow` all
    that comes until nobody runs it any more. Raises UserError."""
    jobs = LocalJobs(own_shelf())
    jobs.get(name)
    stored = jobs.shelf.find(name)
    read: dict[Path, int] = {}
    while True:
        is_run = follow and _goes_on(stored)
        yield from _news(stored.folder / "logs", read, worker)
        if not is_run:
            return
        time.sleep(LOOK_SECONDS)


def _goes_on(stored: StoredJob) -> bool:
    with contextlib.suppress(NoSuchJob):
        return stored.is_run
    return False


def _news(folder: Path, read: dict[Path, int], worker: int | None) -> Iterator[Line]:
    """Whole lines that were not read yet; `read` is brought up to date."""
    for path in sorted(folder.glob("*.log"), key=_changed_at):
        found = _LOG.search(path.name)
        if found is None or worker not in (None, int(found[1])):
            continue
        try:
            with path.open("rb") as file:
                file.seek(read.get(path, 0))
                data = file.read()
        except FileNotFoundError:
            continue  # the job was deleted meanwhile
        whole, newline, _rest = data.rpartition(b"\n")
        read[path] = read.get(path, 0) + len(whole) + len(newline)
        for text in whole.decode(errors="replace").split("\n") if newline else ():
            yield Line(int(found[1]), text)


def _changed_at(path: Path) -> tuple[float, str]:
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_mtime, path.name
    return 0.0, path.name
