"""What a store needs of a bucket, whichever cloud it is in."""

from collections.abc import Collection, Hashable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

CONNECT_SECONDS: Final = 10
READ_SECONDS: Final = 60
"""Until a request that gets no answer counts as failed, and is sent again. The first is also what a
piece of a body may take to be sent, however long all of it takes."""


@dataclass(frozen=True)
class Entry:
    """What a store knows about an object without its bytes."""

    key: str
    size: int
    version: Hashable
    """Changes whenever the object is written."""
    written: datetime


@dataclass(frozen=True)
class Level:
    """What lies directly below a prefix, by whole keys."""

    keys: list[str]
    prefixes: list[str]


class Parts(Protocol):
    """A large object on its way up. Nobody sees any of it before it is complete."""

    def send(self, number: int, data: bytes) -> None:
        """Numbers count from 1, without a gap; as many are sent at once as the bucket has lanes."""
        ...

    def complete(self) -> None: ...

    def abort(self) -> None:
        """Nothing of it stays, neither seen nor billed."""
        ...


class Objects(Protocol):
    """One bucket, as its cloud's library reaches it: by whole keys.

    Retries what may go through the second time, within limits; checks on arrival what it wrote.
    Raises whatever it likes: every call is made inside of `errors`.
    """

    lanes: int
    """Parts of one object that go up at once."""
    part: int
    """Bytes of one part of a large object; a smaller one goes up in one request."""

    def errors(self, where: str, *, missing: type[OSError]) -> AbstractContextManager[None]:
        """The library's errors as the OSErrors that every store raises, with the place and the
        reason: a name that is taken is a FileExistsError, what is not there is of type `missing`,
        and anything else an OSError."""
        ...

    def entries(self, prefix: str) -> Iterator[Entry]:
        """All that begin with it, as of now: what has been written is there."""
        ...

    def level(self, prefix: str) -> Level: ...

    def entry(self, key: str) -> Entry: ...

    def chunks(self, key: str, start: int, length: int | None) -> Iterator[bytes]:
        """`length` is None, or above 0."""
        ...

    def put(self, key: str, data: bytes, *, only_new: bool = False) -> None:
        """Whole or not at all. `only_new`: of all who ever write the key, one succeeds."""
        ...

    def put_parts(self, key: str, size: int) -> Parts:
        """`size`: bytes of each part but the last."""
        ...

    def copy(self, key: str, target: str) -> None: ...

    def delete(self, keys: Collection[str]) -> None:
        """Harmless where one is gone already; where one cannot go, the others do all the same."""
        ...
