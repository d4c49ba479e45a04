"""What every rank of a trial writes down: one line of JSON for each step that it has done."""

import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

FOLDER_VARIABLE: Final = "BENCH_STEPS"
WORKER_VARIABLE: Final = "BENCH_WORKER"


@dataclass(frozen=True, kw_only=True)
class StepDone:
    """One optimizer step of one rank."""

    at: float
    """Seconds of the monotonic clock, which all processes of a machine share."""
    worker: str
    world: str
    """Tells the worlds of one trial apart."""
    size: int
    """Ranks of that world."""
    rank: int
    step: int
    """Steps that the model has taken since training began, this one included."""


class StepLog:
    """Written by a rank, to a file of its own in the folder that the environment names."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._worker = environment[WORKER_VARIABLE]
        path = Path(environment[FOLDER_VARIABLE]) / f"{self._worker}-{os.getpid()}.jsonl"
        self._file = path.open("a", buffering=1)  # a line each, whole even if the rank is killed

    def done(self, *, world: str, size: int, rank: int, step: int) -> None:
        at = time.monotonic()
        line = StepDone(at=at, worker=self._worker, world=world, size=size, rank=rank, step=step)
        self._file.write(json.dumps(asdict(line)) + "\n")


class StepReader:
    """Collects the steps of all ranks while they are written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}
        self.steps: list[StepDone] = []

    def look(self) -> list[StepDone]:
        """All steps so far, in the order of time."""
        for path in sorted(self._folder.glob("*.jsonl")):
            self.steps.extend(self._new_of(path))
        self.steps.sort(key=lambda step: step.at)
        return self.steps

    def _new_of(self, path: Path) -> Iterator[StepDone]:
        with path.open("rb") as file:
            file.seek(self._read.get(path, 0))
            text = file.read()
        whole = text.rfind(b"\n") + 1  # a line that is being written is read next time
        self._read[path] = self._read.get(path, 0) + whole
        for line in text[:whole].splitlines():
            yield StepDone(**json.loads(line))
