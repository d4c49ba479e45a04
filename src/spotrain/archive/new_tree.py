"""Files, folders and links made anew below a folder that others can write to meanwhile.

Everything is reached from an open descriptor, a name at a time, and no name is followed: whoever
puts a link in place of a folder while this goes on is refused, and leads nothing elsewhere.
"""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Final

from spotrain.archive.errors import Refused

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def make_folder(root: int, parts: Sequence[str]) -> None:
    """With those above it; what is there already stays. Raises Refused, OSError."""
    with _opened(root, parts):
        pass


@contextmanager
def new_file(root: int, parts: Sequence[str], mode: int) -> Iterator[IO[bytes]]:
    """Open to be written, with that mode in the end; its folders are made.

    Raises Refused where there is one, OSError.
    """
    with _opened(root, parts[:-1]) as parent:
        try:
            descriptor = os.open(parts[-1], _NEW_FILE, 0o600, dir_fd=parent)
        except FileExistsError:
            raise _twice(parts) from None
    with os.fdopen(descriptor, "wb") as file:
        yield file
        file.flush()
        os.fchmod(descriptor, mode)  # last: not every file server lets one write what is read-only


def make_link(root: int, parts: Sequence[str], target: str) -> None:
    """Its folders are made. Raises Refused where there is something, OSError."""
    with _opened(root, parts[:-1]) as parent:
        try:
            os.symlink(target, parts[-1], dir_fd=parent)
        except FileExistsError:
            raise _twice(parts) from None


@contextmanager
def _opened(root: int, parts: Sequence[str]) -> Iterator[int]:
    """A folder's descriptor. The folder is made where it is not there."""
    descriptor = os.dup(root)
    try:
        for part in parts:
            deeper = _open_or_make(descriptor, part)
            os.close(descriptor)
            descriptor = deeper
        yield descriptor
    finally:
        os.close(descriptor)


def _open_or_make(parent: int, name: str) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except FileNotFoundError:
        os.mkdir(name, dir_fd=parent)
        return os.open(name, _FOLDER, dir_fd=parent)
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        raise Refused(
            f"{name[:200]!r} is a link or a file where a folder has to be; send plain folders."
        ) from None


def _twice(parts: Sequence[str]) -> Refused:
    return Refused(f"{'/'.join(parts)[:200]!r} is there twice; send each file once.")
