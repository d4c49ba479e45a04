"""A folder of checkpoints as jobs left it: nothing in it is more than plain files and folders.

Jobs write there, and the archive sees more than they do and serves others too: a link must not lead
it elsewhere, and neither a pipe nor a manifest without end may keep it.
"""

import contextlib
import errno
import os
import time
from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import Final, NoReturn

from spotrain.archive.confinement import opened_below, opened_file
from spotrain.archive.errors import NotFound, Refused, Unavailable
from spotrain.archive.removal import remove_folder
from spotrain.checkpoints.store import CHUNK, Directory
from spotrain.checkpoints.store.directory import sync_folder

MANIFEST_BYTES: Final = 4 << 20
"""Names and digests of some 25,000 files. It is held in memory whole."""
MANIFESTS_BYTES: Final = 16 << 20
"""Of a folder's together, the newest first. Pruning holds what they say of files, about seven times
as much, of all of them at once."""
MOST_ENTRIES: Final = 20_000
"""Of a folder that is looked through: some 10,000 checkpoints."""
READ_SECONDS: Final = 3600.0
"""For all bytes of one checkpoint, or of all that pruning looks at: a file may be a hole without
end, which takes no room on the volume."""


class JobStore(Directory):
    """A store (see `Store`) that passes over links, pipes and what is too large to be a manifest.

    In it things are read, moved and removed; nothing is written.

    Messages call it by the name that it was asked for by.
    """

    def __init__(self, path: Path, name: str) -> None:
        super().__init__(path)
        self._name = name
        self._manifest_bytes = MANIFESTS_BYTES
        """That may still be read of those that were listed last."""
        self.give_time()

    def give_time(self) -> None:
        """READ_SECONDS from now on; whoever reads later than that gets Unavailable."""
        self._until = time.monotonic() + READ_SECONDS

    def __str__(self) -> str:
        return self._name

    def files(self, folder: str = "") -> list[str]:
        """Raises Refused where there are too many, OSError."""
        prefix, found = f"{folder}/" if folder else "", []
        self._manifest_bytes = MANIFESTS_BYTES
        with contextlib.suppress(FileNotFoundError), self._opened_folder(folder) as opened:
            try:
                for entry in _entries(opened):
                    if entry.is_file(follow_symlinks=False):
                        found.append(prefix + entry.name)
            except _Crowded as error:
                raise Refused(f"{self} has {error.strerror}; move what is no checkpoint.") from None
        return found

    def folders(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            entries = _entries(self.path)
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        return []

    def age_seconds(self, folder: str) -> float:
        with self._opened_folder(folder) as opened:
            newest = opened.stat().st_mtime
            for entry in _entries(opened):
                newest = max(newest, entry.stat(follow_symlinks=False).st_mtime)
            return time.time() - newest

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
            if is_manifest:
                self._count_manifest(size)
            end = size if length is None else min(size, start + length)
            while start < end and (chunk := os.pread(file, min(CHUNK, end - start), start)):
                start += len(chunk)
                yield chunk
                if not is_manifest:
                    self._check_time()

    def write(self, name: str) -> NoReturn:
        raise self._read_only(name)

    def publish(self, name: str, target: str) -> NoReturn:
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

    def remove(self, folder: str) -> None:
        with contextlib.suppress(OSError):
            remove_folder(self.path, folder)

    def _count_manifest(self, size: int) -> None:
        if size > MANIFEST_BYTES:
            said = f"it has {size} bytes, and a manifest has at most {MANIFEST_BYTES}"
            raise OSError(errno.EFBIG, said)
        if size > self._manifest_bytes:
            said = f"it and the newer ones have more than {MANIFESTS_BYTES} bytes together; prune"
            raise OSError(errno.EFBIG, said)
        self._manifest_bytes -= size

    def _check_time(self) -> None:
        # No OSError: that counts as damage, and pruning would then spare another one.
        if time.monotonic() > self._until:
            raise Unavailable(
                f"reading checkpoints in {self} has taken more than {READ_SECONDS:.0f} s, and was "
                "given up. See whether the file server is slow, or a file larger than it should be."
            )

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
        with ExitStack() as stack:
            try:
                folder = stack.enter_context(opened_below(self.path, name))
            except NotFound as error:
                raise FileNotFoundError(errno.ENOENT, str(error)) from None
            except Refused as error:
                raise OSError(errno.ELOOP, str(error)) from None
            yield folder


class _Crowded(OSError):
    pass


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for number, entry in enumerate(entries, 1):
            if number > MOST_ENTRIES:
                raise _Crowded(errno.EFBIG, f"more than {MOST_ENTRIES:,} files and folders")
            yield entry
