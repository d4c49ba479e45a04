"""A folder that somebody named, below one that is given, whatever links others put in between.

Jobs write to output/, and this process sees more than they do: a link of theirs, even one that
appears between a check and the use, must not lead it anywhere else.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

from spotrain.archive.errors import NotFound, Refused

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
"""To open a folder by its name, and nothing that a link of that name leads to."""


@contextmanager
def opened_folder(path: Path) -> Iterator[int]:
    """A descriptor of a folder that its caller knows. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def opened_below(root: Path, relative: str) -> Iterator[Path]:
    """A path that leads to that very folder while the context lasts.

    Raises NotFound where there is none, Refused where it is not below.
    """
    parts = PurePosixPath(relative).parts
    if PurePosixPath(relative).is_absolute() or ".." in parts:
        raise Refused(f"{relative!r} leads out of output/; give a path below it.")
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts:
            try:
                deeper = os.open(part, FOLDER, dir_fd=descriptor)
            except FileNotFoundError:
                raise NotFound(f"there is no folder {relative!r} in output/.") from None
            except OSError as error:
                if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                    raise
                raise Refused(
                    f"{relative!r} passes {part!r}, which is no folder or a link; give the folder "
                    "itself."
                ) from None
            os.close(descriptor)
            descriptor = deeper
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


@contextmanager
def opened_file(folder: Path, name: str) -> Iterator[int]:
    """A descriptor to read a plain file by, which lies in a folder that `opened_below` gave.

    Raises OSError, also for a link, a pipe or anything else that is no plain file.
    """
    # Not blocking: a pipe under such a name would never be opened.
    descriptor = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no plain file", name)
        yield descriptor
    finally:
        os.close(descriptor)
