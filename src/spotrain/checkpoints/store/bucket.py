"""A part of a bucket, in whichever cloud: what every object store needs to be a `Store`.

Object stores have no rename and no append. A file becomes visible at once when its last byte is
there; a name is taken by a conditional write, of which the store lets exactly one succeed.
"""

import contextlib
from collections import deque
from collections.abc import Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime

from spotrain.checkpoints.store.objects import Entry, Level, Objects, Parts
from spotrain.checkpoints.store.store import Sink, read


@dataclass(frozen=True)
class Address:
    """A place in a bucket, as scheme://bucket/prefix."""

    scheme: str
    bucket: str
    prefix: str
    """What the keys begin with: empty, or with a slash at its end."""

    @classmethod
    def parse(cls, place: str) -> "Address":
        """Raises ValueError where no bucket is named."""
        scheme, _, path = place.partition("://")
        bucket, _, prefix = path.partition("/")
        if not bucket:
            raise ValueError(
                f"{place!r} names no bucket: give {scheme}://<bucket>/<prefix>, such as "
                f"{scheme}://my-team/output/run1"
            )
        return cls(scheme, bucket, f"{prefix.strip('/')}/" if prefix.strip("/") else "")

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.prefix}".rstrip("/")


class Bucket:
    """A store (see `Store`) at an address, with the identity of this machine."""

    def __init__(self, address: Address, objects: Objects, *, part: int = 0) -> None:
        """`part`: bytes of a part of a large file, where it is not what suits its cloud."""
        self._address = address
        self._objects = objects
        self._part = part or objects.part

    def __str__(self) -> str:
        return str(self._address)

    def files(self, folder: str = "") -> list[str]:
        below = f"{folder}/" if folder else ""
        return [self._name(key) for key in self._level(below).keys]

    def folders(self) -> list[str]:
        return [self._name(prefix).rstrip("/") for prefix in self._level("").prefixes]

    def age_seconds(self, folder: str) -> float:
        entries = self._entries(folder)
        if not entries:
            raise FileNotFoundError(f"{self}/{folder} is gone")
        return (datetime.now(UTC) - max(entry.written for entry in entries)).total_seconds()

    def size(self, name: str) -> int:
        return self._entry(name).size

    def identity(self, name: str) -> Hashable:
        entry = self._entry(name)
        return name, entry.version, entry.size

    def chunks(self, name: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        if length == 0:
            return
        with self._errors(name):
            yield from self._objects.chunks(self._key(name), start, length)

    @contextlib.contextmanager
    def write(self, name: str) -> Iterator[Sink]:
        with self._errors(name, missing=OSError):
            upload = _Upload(self._objects, self._key(name), self._part)
            try:
                yield upload.add
                upload.complete()
            except BaseException:
                with contextlib.suppress(OSError), self._errors(name):
                    upload.abort()
                raise

    def publish(self, name: str, target: str) -> None:
        data = read(self, name)
        try:
            with self._errors(target, missing=OSError):
                self._objects.put(self._key(target), data, only_new=True)
        except FileExistsError:
            # A request whose answer got lost is sent again, and then finds what it did itself.
            if read(self, target) != data:
                raise

    def move(self, name: str, target: str) -> None:
        with self._errors(name):
            self._objects.copy(self._key(name), self._key(target))
            self._objects.delete([self._key(name)])

    def remove(self, folder: str) -> None:
        """What cannot be removed now is found again later: nothing names it."""
        with contextlib.suppress(OSError):
            entries = self._entries(folder)
            with self._errors(folder):
                self._objects.delete([entry.key for entry in entries])

    def _key(self, name: str) -> str:
        return self._address.prefix + name

    def _name(self, key: str) -> str:
        return key.removeprefix(self._address.prefix)

    def _entry(self, name: str) -> Entry:
        with self._errors(name):
            return self._objects.entry(self._key(name))

    def _entries(self, folder: str) -> list[Entry]:
        with self._errors(folder, missing=OSError):
            return list(self._objects.entries(self._key(f"{folder}/")))

    def _level(self, below: str) -> Level:
        with self._errors(below, missing=OSError):
            return self._objects.level(self._key(below))

    def _errors(
        self, name: str, *, missing: type[OSError] = FileNotFoundError
    ) -> AbstractContextManager[None]:
        """`missing`: OSError where no object is asked for, so that only the bucket can be."""
        return self._objects.errors(f"{self}/{name}", missing=missing)


class _Upload:
    """A file on its way up: at once if it is small, otherwise in parts, beside whoever makes it.

    Memory: as many parts as there are lanes, and one; besides, what the cloud's library holds.
    """

    def __init__(self, objects: Objects, key: str, part: int) -> None:
        self._objects, self._key, self._part = objects, key, part
        self._buffer = bytearray()
        self._parts: Parts | None = None
        self._sent = 0
        self._under_way: deque[Future[None]] = deque()
        self._threads = ThreadPoolExecutor(objects.lanes, thread_name_prefix="upload")

    def add(self, data: memoryview) -> None:
        self._buffer += data
        while len(self._buffer) >= self._part:
            self._send(self._part)

    def complete(self) -> None:
        if self._parts is None:
            self._objects.put(self._key, bytes(self._buffer))
        else:
            if self._buffer:
                self._send(len(self._buffer))
            while self._under_way:
                self._under_way.popleft().result()
            self._parts.complete()
        self._threads.shutdown()

    def abort(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        if self._parts is not None:
            self._parts.abort()

    def _send(self, size: int) -> None:
        if self._parts is None:
            self._parts = self._objects.put_parts(self._key, self._part)
        if len(self._under_way) == self._objects.lanes:
            self._under_way.popleft().result()
        data = bytes(memoryview(self._buffer)[:size])
        del self._buffer[:size]
        self._sent += 1
        self._under_way.append(self._threads.submit(self._parts.send, self._sent, data))
