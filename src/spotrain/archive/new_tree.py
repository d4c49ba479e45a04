"""Files, folders and links made anew below a folder that others can write to meanwhile.

Everything is reached from an open descriptor, a name at a time, and no name is followed: whoever
puts a link in place of a folder while this goes on is refused, and leads nothing elsewhere.
"""

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Final

from spotrain.archive.confinement import FOLDER
from spotrain.archive.errors import Refused

_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


class NewTree:
    """Usage: `NewTree(descriptor, before).make_folder(("lib", "deep"))`.

    `before` is called for each file, folder and link that is going to be made, those included that
    only lead to another one; what it raises ends the work.
    """

    def __init__(self, root: int, before: Callable[[], None]) -> None:
        self._root = root
        self._before = before

    def make_folder(self, parts: Sequence[str]) -> None:
        """With those above it; what is there already stays. Raises Refused, OSError."""
        with self._opened(parts):
            pass

    @contextmanager
    def new_file(self, parts: Sequence[str], mode: int) -> Iterator[IO[bytes]]:
        """Open to be written, with that mode in the end; its folders are made.

        Raises Refused where there is one, OSError.
        """
        with self._opened(parts[:-1]) as parent:
            self._before()
            try:
                descriptor = os.open(parts[-1], _NEW_FILE, 0o600, dir_fd=parent)
            except FileExistsError:
                raise _twice(parts) from None
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            # Last: not every file server lets one write what is read-only.
            os.fchmod(descriptor, mode)

    def make_link(self, parts: Sequence[str], target: str) -> None:
        """Its folders are made. Raises Refused where there is something, OSError."""
        with self._opened(parts[:-1]) as parent:
            self._before()
            try:
                os.symlink(target, parts[-1], dir_fd=parent)
            except FileExistsError:
                raise _twice(parts) from None

    @contextmanager
    def _opened(self, parts: Sequence[str]) -> Iterator[int]:
        """A folder's descriptor. The folder is made where it is not there."""
        descriptor = os.dup(self._root)
        try:
            for part in parts:
                deeper = self._open_or_make(descriptor, part)
                os.close(descriptor)
                descriptor = deeper
            yield descriptor
        finally:
            os.close(descriptor)

    def _open_or_make(self, parent: int, name: str) -> int:
        try:
            return os.open(name, FOLDER, dir_fd=parent)
        except FileNotFoundError:
            self._before()
            os.mkdir(name, dir_fd=parent)
            return os.open(name, FOLDER, dir_fd=parent)
        except OSError as error:
            if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
            raise Refused(
                f"{name[:200]!r} is a link or a file where a folder has to be; send plain folders."
            ) from None


def _twice(parts: Sequence[str]) -> Refused:
    return Refused(f"{'/'.join(parts)[:200]!r} is there twice; send each file once.")
