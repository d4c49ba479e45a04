"""TensorBoard's event files below an output folder: which there are, and their bytes.

They are only appended to, so that whoever has the beginning asks for the rest.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from spotrain.archive.checkpoints import relative_place
from spotrain.archive.confinement import opened_below, opened_file
from spotrain.archive.errors import NotFound, Refused
from spotrain.archive.records import EventFile

MARK: Final = "tfevents"
"""In the name of a file: TensorBoard's own rule. Nothing else is handed out."""
DEEPEST: Final = 8
"""Folders below an output folder that are looked into."""
MOST_FILES: Final = 10_000
MOST_ENTRIES: Final = 100_000
"""Of whatever kind that are looked at: a data set below an output folder must not keep a thread."""
PIECE_BYTES: Final = 4 << 20
_TOP: Final = PurePosixPath()
_PASSED_OVER: Final = (NotFound, Refused, PermissionError)
"""Folders that went away or became a link meanwhile, or that are somebody else's."""


def list_event_files(output: Path, place: str) -> list[EventFile]:
    """Sorted by path. Raises NotFound, Refused, OSError."""
    found = []
    with opened_below(output, relative_place(place)) as folder:
        for number, (entry, path) in enumerate(_walk(folder), 1):
            if number > MOST_ENTRIES:
                raise Refused(
                    f"{place} has more than {MOST_ENTRIES:,} files and folders, too many to look "
                    "for event files among them; name a folder deeper, that of one run."
                )
            if MARK in entry.name and (file := _event_file(entry, path)):
                found.append(file)
            if len(found) > MOST_FILES:
                raise Refused(f"{place} has more than {MOST_FILES:,} event files; name one run.")
    return sorted(found, key=lambda file: file.path)


def read_event_bytes(output: Path, place: str, path: str, begin: int) -> bytes:
    """At most PIECE_BYTES of them, from `begin` on; empty: there are no more.

    Raises NotFound, Refused, OSError.
    """
    parent, name = PurePosixPath(path).parent, PurePosixPath(path).name
    if MARK not in name:
        raise Refused(f"{path!r} is no event file of TensorBoard, and nothing else is read here.")
    with opened_below(output, f"{relative_place(place)}/{parent}") as folder:
        try:
            with opened_file(folder, name) as opened:
                return os.pread(opened, PIECE_BYTES, begin)
        except FileNotFoundError:
            raise NotFound(f"there is no event file {path!r} in {place}.") from None
        except OSError as error:
            raise Refused(f"{path!r} in {place} cannot be read: {error.strerror}.") from None


def _walk(folder: Path, inside: PurePosixPath = _TOP) -> Iterator[tuple[os.DirEntry[str], str]]:
    """Every entry with its path, as they are read: a folder may have a million. Follows no link."""
    deeper = []
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry, str(inside / entry.name)
            if entry.is_dir(follow_symlinks=False):
                deeper.append(entry.name)
    if len(inside.parts) < DEEPEST:
        for name in deeper:
            with contextlib.suppress(*_PASSED_OVER), opened_below(folder, name) as opened:
                yield from _walk(opened, inside / name)


def _event_file(entry: os.DirEntry[str], path: str) -> EventFile | None:
    try:
        found = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None  # removed meanwhile
    return EventFile(path=path, size=found.st_size) if stat.S_ISREG(found.st_mode) else None
