"""What a job left on its volume about the samples it used: ranks' logs and checkpoints' positions.

Read here without torch, so that the ledger can judge a job on a machine that could not train it.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

Key = tuple[int, int]
"""(world, step): how checkpoints are named, and how they order."""


@dataclass(frozen=True, kw_only=True)
class Commit:
    """What a published checkpoint says about the position in the data."""

    world: int
    step: int
    epoch: int
    cursor: int
    parent: Key | None
    """The checkpoint that its world went on from, or its own first one; None at the beginning."""

    @property
    def key(self) -> Key:
        return self.world, self.step


@dataclass(frozen=True, kw_only=True)
class Consumption:
    """What one rank consumed in one step."""

    world: int
    rank: int
    step: int
    """Number of the step in the run, counted from 1."""
    epoch: int
    ids: Sequence[int]
    padding: int
    """How many ids at the end of the list are declared repeats."""


def read_sample_log(folder: Path) -> list[Consumption]:
    """The ranks' logs, `w000003-r00002.jsonl`: one JSON object a line, one line a step.

    A rank that was killed while it wrote leaves a last line without an end. That step was never
    committed (its log is written first); if it was, the audit finds its samples missing.
    """
    records = []
    for path in sorted(folder.glob("w*-r*.jsonl")):
        lines = path.read_text().splitlines(keepends=True)
        for number, line in enumerate(lines, start=1):
            if not line.endswith("\n"):
                continue
            try:
                records.append(Consumption(**json.loads(line)))
            except (ValueError, TypeError) as error:
                raise ValueError(
                    f"{path}:{number} is {line[:80]!r}, but a sample log has one JSON object with "
                    "world, rank, step, epoch, ids and padding a line: without it nothing can be "
                    f"said about these samples ({error})"
                ) from error
    return records


def read_commits(folder: Path) -> list[Commit]:
    """The manifests of a checkpoint folder and of its history, read without torch.

    One that cannot be read is left out, as training leaves it out: where it belongs to the
    lineage, the audit reports the gap. Training may go on meanwhile, and prune.
    """
    commits = []
    for path in sorted((*folder.glob("w*-s*.json"), *folder.glob("history/w*-s*.json"))):
        try:
            document = json.loads(_text(path))
            parent = document["parent"]
            world, step = _key(document["id"])
            commits.append(
                Commit(
                    world=world,
                    step=step,
                    epoch=int(document["epoch"]),
                    cursor=int(document["cursor"]),
                    parent=_key(parent) if parent else None,
                )
            )
        except (ValueError, KeyError, TypeError):
            continue
    return commits


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:  # its data was pruned since the folder was listed
        return (path.parent / "history" / path.name).read_text()


def _key(text: str) -> Key:
    """World and step of a checkpoint's id, such as w000003-s00000120."""
    world, step = re.findall(r"\d+", text)
    return int(world), int(step)
