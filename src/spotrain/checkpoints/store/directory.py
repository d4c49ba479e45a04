"""A folder of a local or shared file system, where a kill or a full disk leaves nothing or all."""

import contextlib
import errno
import logging
import os
import shutil
import time
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Final

from spotrain.checkpoints.store.store import CHUNK, Sink

log = logging.getLogger(__name__)

NO_LINKS: Final = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


class Directory:
    """A store (see `Store`) on a file system; on NFS all writers may be on different machines."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)

    def __str__(self) -> str:
        return str(self.path)

    def files(self, folder: str = "") -> list[str]:
        prefix = f"{folder}/" if folder else ""
        with contextlib.suppress(FileNotFoundError), os.scandir(self.path / folder) as entries:
            return [prefix + entry.name for entry in entries if entry.is_file()]
        return []

    def folders(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError), os.scandir(self.path) as entries:
            return [entry.name for entry in entries if entry.is_dir()]
        return []

    def age_seconds(self, folder: str) -> float:
        path = self.path / folder
        newest = max(path.stat().st_mtime for path in (path, *path.iterdir()))
        return time.time() - newest

    def size(self, name: str) -> int:
        return (self.path / name).stat().st_size

    def identity(self, name: str) -> Hashable:
        status = (self.path / name).stat()
        return status.st_ino, status.st_size, status.st_mtime_ns

    def chunks(self, name: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        with (self.path / name).open("rb") as file:
            file.seek(start)
            left = length if length is not None else self.size(name) - start
            while left > 0 and (chunk := file.read(min(CHUNK, left))):
                left -= len(chunk)
                yield chunk

    @contextlib.contextmanager
    def write(self, name: str) -> Iterator[Sink]:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with _new_file(path) as sink:
            yield sink
        sync_folder(path.parent)

    def publish(self, name: str, target: str) -> None:
        _link_new(self.path / name, self.path / target)
        try:
            sync_folder(self.path)
        except OSError as error:
            log.warning("%s is published, but a power cut may undo it: %s", target, error)

    def move(self, name: str, target: str) -> None:
        (self.path / target).parent.mkdir(exist_ok=True)
        os.replace(self.path / name, self.path / target)
        sync_folder(self.path)

    def remove(self, folder: str) -> None:
        shutil.rmtree(self.path / folder, ignore_errors=True)


def _link_new(source: Path, target: Path) -> None:
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
        # Without hard links (bucket mounts, SMB) exclusive creation still lets one writer win; a
        # kill halfway leaves a broken file, which readers pass over.
        with _new_file(target) as sink:
            sink(memoryview(source.read_bytes()))


@contextlib.contextmanager
def _new_file(path: Path) -> Iterator[Sink]:
    """A file that was not there (FileExistsError): whole and synced in the end, or gone again."""
    with path.open("xb") as file:
        try:
            yield file.write
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            with contextlib.suppress(OSError):
                path.unlink()
            raise


def sync_folder(path: Path) -> None:
    """Make names durable: a synced file in an unsynced folder may be gone after a crash."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not every mount can sync a folder
            raise
    finally:
        os.close(descriptor)
