"""Word from a command that stops or removes a sweep of this machine to one that still sends it.

<root>/sweeps/<sweep>   a byte for each time that it was stopped or removed; held while a job of it
                        is sent
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from spotrain.local.files import locked


class Halted(RuntimeError):
    """The sweep was stopped or removed since."""


@dataclass
class Halts:
    """Of a sweep; those that were told before this was made are over. Raises OSError."""

    root: Path
    sweep: str
    _before: int = field(init=False)

    def __post_init__(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._before = self._told()

    def tell(self) -> None:
        """Whoever sends the sweep sends nothing more after it; a job on its way is there before."""
        with locked(self._file), self._file.open("ab") as file:
            file.write(b".")

    @contextmanager
    def waited_for(self) -> Iterator[None]:
        """Around one job that is sent. Raises Halted."""
        with locked(self._file):
            self.check()
            yield

    def check(self) -> None:
        """Raises Halted."""
        if self._told() != self._before:
            raise Halted(self.sweep)

    @property
    def _file(self) -> Path:
        return self.root / "sweeps" / self.sweep

    def _told(self) -> int:
        return self._file.stat().st_size if self._file.exists() else 0
