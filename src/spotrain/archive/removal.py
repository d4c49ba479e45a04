"""Folders that are removed while jobs can still change them, and fill them as they like.

Nothing is listed whole, no name is followed, and no open waits for anybody, as that of a pipe does.
"""

import contextlib
import errno
import os
from pathlib import Path
from typing import Final

from spotrain.archive.confinement import FOLDER, opened_folder

MOST_ENTRIES: Final = 200_000
"""That one removal looks at: at 10 ms each, half an hour."""
DEEPEST: Final = 150
"""Folders within folders; two descriptors are open for each. Code that was sent has a hundred."""


def remove_folder(parent: Path, name: str) -> None:
    """`name` in `parent`, which `opened_below` gave, and all in it; read-only folders too.

    Raises OSError where some of it stays: it was too much, too deep or somebody else's. Whoever
    tries again removes more of it.
    """
    with opened_folder(parent) as descriptor:
        _Removal().remove(descriptor, name, depth=1)


class _Removal:
    def __init__(self) -> None:
        self._left = MOST_ENTRIES

    def remove(self, parent: int, name: str, *, depth: int) -> None:
        if depth > DEEPEST:
            raise OSError(errno.ENAMETOOLONG, f"it is more than {DEEPEST} folders deep", name)
        folder = os.open(name, FOLDER, dir_fd=parent)
        try:
            with contextlib.suppress(OSError):  # somebody else's may be writable all the same
                os.fchmod(folder, 0o755)
            self._empty(folder, depth)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=parent)

    def _empty(self, folder: int, depth: int) -> None:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not self._left:
                    return
                self._left -= 1
                with contextlib.suppress(OSError):  # what stays is told by its folder
                    if entry.is_dir(follow_symlinks=False):
                        self.remove(folder, entry.name, depth=depth + 1)
                    else:
                        os.unlink(entry.name, dir_fd=folder)
