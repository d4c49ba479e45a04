"""Where checkpoints lie: a folder of a file system, or a part of a bucket.

Nothing is ever changed in place. Files are written under names that nobody else uses; `publish`
gives one of them a name that others may want too: the first one wins, and nobody sees half a file.
Both are durable when they return. Failures are OSErrors; a missing file is a FileNotFoundError, a
name that is taken a FileExistsError.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager
from typing import Final, Protocol

CHUNK: Final = 1 << 22
"""Bytes that are read, written and hashed at a time."""

Sink = Callable[[memoryview], object]
"""Takes the bytes of a file one after the other."""


class Store(Protocol):
    """Files by name; a name has at most one folder, such as `history/a.json`."""

    def __str__(self) -> str:
        """The place, as messages name it."""
        ...

    def files(self, folder: str = "") -> list[str]:
        """Names of the files that lie directly in a folder."""
        ...

    def folders(self) -> list[str]: ...

    def age_seconds(self, folder: str) -> float:
        """Since anything in it was last written; a slow save in progress stays young."""
        ...

    def size(self, name: str) -> int: ...

    def identity(self, name: str) -> Hashable:
        """Changes whenever a file is replaced or written to."""
        ...

    def chunks(self, name: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """A file's bytes from `start`, `length` of them or all."""
        ...

    def write(self, name: str) -> AbstractContextManager[Sink]:
        """A new file. It is there, whole, when the context is left; not at all after an error."""
        ...

    def publish(self, name: str, target: str) -> None:
        """Give a small file a second name that must be free, in one step that happens or not."""
        ...

    def move(self, name: str, target: str) -> None:
        """Give a file another name, whether that is taken or not."""
        ...

    def remove(self, folder: str) -> None:
        """A folder and all in it; harmless where it is gone already."""
        ...


def read(store: Store, name: str, start: int = 0, length: int | None = None) -> bytes:
    return b"".join(store.chunks(name, start, length))
