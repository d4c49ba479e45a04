"""Code that a job was sent with: unpacked once, under the SHA-256 of what was sent.

Whoever sends it is a researcher, and so is whoever runs it; still nothing in it may become a file
elsewhere, a device, or a way out of its folder.
"""

import contextlib
import hashlib
import logging
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from spotrain import contract
from spotrain.archive.confinement import opened_below
from spotrain.archive.errors import ArchiveError, NotFound, Refused, Unavailable
from spotrain.archive.removal import remove_folder
from spotrain.archive.tarballs import unpack
from spotrain.checkpoints.store.directory import sync_folder

logger = logging.getLogger(__name__)

PACKED_BYTES: Final = 100 * 1000 * 1000
STALE_SECONDS: Final = 3600.0
READ_ONLY: Final = 0o555
"""Jobs that were sent the same share it, and belong to the same user."""
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_BEGUN: Final = ".begun-"


class Upload:
    """A .tar.gz on its way in. Usage: `add` its pieces, then `publish`; else `discard`.

    All methods block on files. Raises Refused for what breaks a rule; nothing is left of it then.
    `discard` may come while `publish` still works in another thread.
    """

    def __init__(self, output: Path, sha256: str) -> None:
        if not _SHA256.fullmatch(sha256):
            raise Refused(f"{sha256[:80]!r} is no SHA-256: give 64 hexadecimal digits, lower case.")
        self._output = output
        self._sha256 = sha256
        self._digest = hashlib.sha256()
        self.size = 0
        """Bytes that have come."""
        self._turn = threading.Lock()
        self._publishes = self._given_up = False
        (output / contract.CODE_DIR).mkdir(mode=0o775, parents=True, exist_ok=True)
        self._name = f"{_BEGUN}{secrets.token_hex(8)}"
        with self._place() as place:
            (place / self._name).mkdir()
        with self._begun() as begun:
            self._packed: IO[bytes] = (begun / "packed").open("xb+")

    def add(self, data: bytes) -> None:
        self.size += len(data)
        if self.size > PACKED_BYTES:
            self.discard()
            raise Refused(
                f"what was sent is more than {PACKED_BYTES // 10**6} MB packed; leave data and "
                "results out, or build an image."
            )
        self._digest.update(data)
        self._packed.write(data)

    def publish(self) -> None:
        """Others see the whole folder, or none. What is there already stays.

        Raises Unavailable where it was given up meanwhile.
        """
        with self._turn:
            self._check_wanted()
            self._publishes = True
        try:
            self._check_whole()
            self._publish()
        finally:
            self._remove()

    def discard(self) -> None:
        """Where it is being published, that is only told: two at once would publish half of it."""
        with self._turn:
            self._given_up = True
            if self._publishes:
                return
        self._remove()

    def _publish(self) -> None:
        with self._place() as place, self._begun() as begun:
            (begun / "code").mkdir()
            with self._begun("code") as unpacked:
                self._packed.seek(0)
                unpack(self._packed, unpacked, self._check_wanted)
                _chmod_folders(unpacked, READ_ONLY, self._check_wanted)
                self._check_own(begun / "code", unpacked)
                self._check_wanted()
                try:
                    os.rename(begun / "code", place / self._sha256)
                except OSError:
                    if not (place / self._sha256).is_dir():
                        raise
                os.chmod(unpacked, READ_ONLY)  # a folder that is read-only cannot be moved
            sync_folder(place)

    def _remove(self) -> None:
        self._packed.close()
        _remove(self._output, self._name)

    def _check_wanted(self) -> None:
        if self._given_up:
            raise Unavailable("it was given up before it was unpacked; send it again.")

    def _check_whole(self) -> None:
        if self._digest.hexdigest() != self._sha256:
            raise Refused(
                f"what came has SHA-256 {self._digest.hexdigest()}, not {self._sha256}: it was "
                "changed or cut on its way. Send it again."
            )

    def _check_own(self, named: Path, unpacked: Path) -> None:
        if not os.path.samestat(named.lstat(), unpacked.stat()):
            raise Refused(
                f"somebody put something else in place of {self._sha256[:12]} while it was "
                "unpacked. Send it again, and ask what runs in output/code."
            )

    @contextmanager
    def _place(self) -> Iterator[Path]:
        with opened_below(self._output, contract.CODE_DIR) as place:
            yield place

    @contextmanager
    def _begun(self, folder: str = "") -> Iterator[Path]:
        """What is its own until it is published, though every job can rename things there."""
        with opened_below(self._output, f"{contract.CODE_DIR}/{self._name}/{folder}") as begun:
            yield begun


def has_code(output: Path, sha256: str) -> bool:
    """Raises Refused where that is no SHA-256."""
    if not _SHA256.fullmatch(sha256):
        raise Refused(f"{sha256[:80]!r} is no SHA-256: give 64 hexadecimal digits, lower case.")
    return (output / contract.CODE_DIR / sha256).is_dir()


def sweep(output: Path, now: float) -> None:
    """Remove what uploads that were cut off have left; `now` in seconds of the epoch.

    Raises Refused, OSError.
    """
    with (
        contextlib.suppress(NotFound),
        opened_below(output, contract.CODE_DIR) as place,
        os.scandir(place) as entries,
    ):
        for entry in entries:  # as they are read: whoever likes makes a million of them
            if entry.name.startswith(_BEGUN) and _is_stale(entry, now):
                _remove(output, entry.name)


def _is_stale(entry: os.DirEntry[str], now: float) -> bool:
    with contextlib.suppress(FileNotFoundError):  # removed meanwhile
        is_own = entry.is_dir(follow_symlinks=False)
        return is_own and now - entry.stat(follow_symlinks=False).st_mtime > STALE_SECONDS
    return False


def _remove(output: Path, name: str) -> None:
    """What an upload has left, whatever jobs have made of it."""
    try:
        with opened_below(output, contract.CODE_DIR) as place:
            remove_folder(place, name)
    except (NotFound, FileNotFoundError):
        pass
    except (ArchiveError, OSError) as error:
        logger.warning("%s/%s could not be removed: %s", contract.CODE_DIR, name, error)


def _chmod_folders(folder: Path, mode: int, check: Callable[[], None]) -> None:
    """All that are below it. Raises NotFound, Refused, OSError, and what `check` does for each."""
    check()
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    for name in names:
        with opened_below(folder, name) as deeper:
            _chmod_folders(deeper, mode, check)
            os.chmod(deeper, mode)
