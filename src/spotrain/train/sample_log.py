"""Which samples each rank consumed, written down step by step for the audit of exactness."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from spotrain import contract
from spotrain.agent.rank import Assignment
from spotrain.train.position import Position
from spotrain.train.sampler import Batch


class SampleLog:
    """One file a world and rank under the folder of SPOTRAIN_SAMPLE_LOG; no folder, no log."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._file: TextIO | None = None
        self._name = ""

    @classmethod
    def from_environment(cls) -> "SampleLog":
        folder = os.environ.get(contract.ENV_SAMPLE_LOG)
        return cls(Path(folder) if folder else None)

    def write(self, place: Assignment, position: Position, taken: Sequence[Batch]) -> None:
        """One line for the step that was just done. Unbuffered, so that a kill loses nothing."""
        if self._folder is None:
            return
        name = f"w{place.number:06d}-r{place.rank:05d}.jsonl"
        if name != self._name:
            self.close()
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file, self._name = (self._folder / name).open("a", buffering=1), name
        assert self._file is not None
        ids = [index for batch in taken for index in batch.indices]
        line = {
            "world": place.number,
            "rank": place.rank,
            "step": position.step,
            "epoch": position.epoch,
            "ids": ids,
            "padding": sum(batch.padding for batch in taken),
        }
        self._file.write(json.dumps(line) + "\n")

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
