"""A folder of checkpoints as jobs left it: nothing in it is more than plain files and folders.

Jobs write there, and the archive sees more than they do and serves others too: a link must not lead
it elsewhere, and neither a pipe nor a manifest without end may keep it.
"""

import contextlib
import errno
import os
import time
from collections.abc import Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

from spotrain.archive.confinement import opened_below, opened_file
from spotrain.archive.errors import NotFound, Refused
from spotrain.checkpoints.store import CHUNK, Directory, Sink
from spotrain.checkpoints.store.directory import sync_folder

MANIFEST_BYTES: Final = 4 << 20
"""Names and digests of some 25,000 files. It is held in memory whole."""


class JobStore(Directory):
    """A store (see `Store`) that passes over links, pipes and what is too large to be a manifest.

    In it things are read, moved and removed; nothing is written.

    Messages call it by the name that it was asked for by.
    """

    def __init__(self, path: Path, name: str) -> None:
        super().__init__(path)
        self._name = name

    def __str__(self) -> str:
        return self._name

    def files(self, folder: str = "") -> list[str]:
        prefix = f"{folder}/" if folder else ""
        with (
            contextlib.suppress(FileNotFoundError),
            self._opened_folder(folder) as opened,
            os.scandir(opened) as entries,
        ):
            return [prefix + one.name for one in entries if one.is_file(follow_symlinks=False)]
        return []

    def folders(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError), os.scandir(self.path) as entries:
            return [one.name for one in entries if one.is_dir(follow_symlinks=False)]
        return []

    def age_seconds(self, folder: str) -> float:
        with self._opened_folder(folder) as opened, os.scandir(opened) as entries:
            times = [one.stat(follow_symlinks=False).st_mtime for one in entries]
            return time.time() - max(opened.stat().st_mtime, *times, 0.0)

    def size(self, name: str) -> int:
        with self._opened_file(name) as file:
            return os.fstat(file).st_size

    def identity(self, name: str) -> Hashable:
        with self._opened_file(name) as file:
            status = os.fstat(file)
        return status.st_ino, status.st_size, status.st_mtime_ns

    def chunks(self, name: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        with self._opened_file(name) as file:
            size = os.fstat(file).st_size
            is_manifest = "/" not in name
            if is_manifest and size > MANIFEST_BYTES:
                said = f"it has {size} bytes, and a manifest has at most {MANIFEST_BYTES}"
                raise OSError(errno.EFBIG, said)
            end = size if length is None else min(size, start + length)
            while start < end and (chunk := os.pread(file, min(CHUNK, end - start), start)):
                start += len(chunk)
                yield chunk

    def write(self, name: str) -> AbstractContextManager[Sink]:
        raise self._read_only(name)

    def publish(self, name: str, target: str) -> None:
        raise self._read_only(target)

    def move(self, name: str, target: str) -> None:
        """Between folders that are open, so that a link in place of either is never followed."""
        source, end = PurePosixPath(name), PurePosixPath(target)
        if end.parent.parts:
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.path / end.parent)
        with (
            self._opened_folder(str(source.parent)) as here,
            self._opened_folder(str(end.parent)) as there,
        ):
            os.replace(here / source.name, there / end.name)
            sync_folder(there)
            sync_folder(here)

    def _read_only(self, name: str) -> OSError:
        said = f"{self}/{name}: the archive writes no checkpoints, which are the job's own"
        return OSError(errno.EROFS, said)

    @contextmanager
    def _opened_file(self, name: str) -> Iterator[int]:
        path = PurePosixPath(name)
        with (
            self._opened_folder(str(path.parent)) as folder,
            opened_file(folder, path.name) as file,
        ):
            yield file

    @contextmanager
    def _opened_folder(self, name: str) -> Iterator[Path]:
        try:
            with opened_below(self.path, name) as folder:
                yield folder
        except NotFound as error:
            raise FileNotFoundError(errno.ENOENT, str(error)) from None
        except Refused as error:
            raise OSError(errno.ELOOP, str(error)) from None
