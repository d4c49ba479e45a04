"""Workers of this machine that somebody wants taken away, asked of whatever process runs the job.

A request is an empty file, named by the worker's pod and the manner: made at once or not at all.
"""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final

FOLDER: Final = "interruptions"
"""Below that of the job."""


class Manner(StrEnum):
    """How a worker is taken away."""

    NOTICE = "notice"
    """It is told to leave, and has its whole grace period to save."""
    KILL = "kill"
    """It is gone at once: nobody waits for it, and no word of its own counts any more."""
    NODE = "node"
    """Its node is drained: every worker on it is told to leave, and nothing new comes to it."""


def ask(job: Path, manner: Manner, pod: str) -> None:
    """To take away that pod, by its uid, of the job of that folder."""
    (job / FOLDER).mkdir(exist_ok=True)
    (job / FOLDER / f"{pod}.{manner}").touch()


def take(job: Path) -> Iterator[tuple[Manner, str]]:
    """What was asked since the last time: each manner and the pod's uid, once."""
    for manner in Manner:
        for file in (job / FOLDER).glob(f"*.{manner}"):
            file.unlink(missing_ok=True)
            yield manner, file.stem
