"""Writing to a shared file system so that a kill or a full disk leaves either nothing or all."""

import contextlib
import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import torch

NO_LINKS: Final = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
CHUNK: Final = 1 << 22


@dataclass(frozen=True)
class DataFile:
    """How to tell whether a file is as it was written."""

    size: int
    sha256: str


class _HashingWriter:
    """Hashes what passes through, and keeps an error for later.

    torch's archive writer answers an exception raised in its middle with a failed assertion of its
    own, which hides the cause; so it sees success, and the cause is raised when it has finished.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.size = 0
        self.hash = hashlib.sha256()
        self.error: OSError | None = None

    def write(self, data: bytes) -> int:
        size = len(data)
        if self.error is None:
            try:
                self.file.write(data)
                self.hash.update(data)
                self.size += size
            except OSError as error:
                self.error = error
        return size

    def flush(self) -> None: ...


def save_state(path: Path, state: Mapping[str, Any]) -> DataFile:
    """Write a state to a new file and to the disk below it."""
    with path.open("xb") as file:
        writer = _HashingWriter(file)
        torch.save(state, cast(Any, writer))
        if writer.error is not None:
            raise writer.error
        file.flush()
        os.fsync(file.fileno())
    return DataFile(size=writer.size, sha256=writer.hash.hexdigest())


def damage(path: Path, expected: DataFile) -> str:
    """What is wrong with a file, or nothing."""
    try:
        if (size := path.stat().st_size) != expected.size:
            return f"has {size} bytes instead of {expected.size}"
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error}"
    return "" if digest.hexdigest() == expected.sha256 else "has changed: its SHA-256 differs"


Identity = tuple[int, int, int]


def identity(path: Path) -> Identity:
    """Changes whenever a file is replaced or written to."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def write_new(path: Path, data: bytes) -> None:
    """Create a file that must not exist; a failed attempt leaves none."""
    with path.open("xb") as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            with contextlib.suppress(OSError):
                path.unlink()
            raise


def link_new(source: Path, target: Path) -> None:
    """Give a complete file its final name, unless that name is taken (FileExistsError)."""
    try:
        os.link(source, target)
    except FileExistsError:
        # NFS may repeat a request whose answer got lost; the second one then finds our own link.
        if not os.path.samefile(source, target):
            raise
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        # Some file systems (object-store mounts, SMB) have no hard links. Exclusive creation still
        # lets one writer win; a kill halfway leaves a broken manifest, which readers pass over.
        write_new(target, source.read_bytes())


@contextlib.contextmanager
def new_folder(directory: Path, prefix: str) -> Iterator[Path]:
    """A folder that no other attempt uses, gone again if what fills it fails."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=directory))
    try:
        folder.chmod(0o755)  # mkdtemp hides it from others, who may read this volume too
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def sync_directory(directory: Path) -> None:
    """Make names durable: a synced file in an unsynced directory may be gone after a crash."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not every mount can sync a directory
            raise
    finally:
        os.close(descriptor)
