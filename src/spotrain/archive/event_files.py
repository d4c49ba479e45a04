"""TensorBoard's event files below an output folder: which there are, and their bytes.

They are only appended to, so that whoever has the beginning asks for the rest.
"""

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
PIECE_BYTES: Final = 4 << 20


def list_event_files(output: Path, place: str) -> list[EventFile]:
    """Sorted by path. Raises NotFound, Refused, OSError."""
    with opened_below(output, relative_place(place)) as folder:
        found = []
        for file in _walk(folder):
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


def _walk(folder: Path) -> Iterator[EventFile]:
    """Follows no link."""
    top = f"{folder}/."
    for root, folders, files, descriptor in os.fwalk(top, follow_symlinks=False):
        inside = PurePosixPath(root).relative_to(top)
        if len(inside.parts) >= DEEPEST:
            folders.clear()
        for name in files:
            if MARK in name:
                try:
                    found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                except FileNotFoundError:
                    continue  # removed meanwhile
                if stat.S_ISREG(found.st_mode):
                    yield EventFile(path=str(inside / name), size=found.st_size)
