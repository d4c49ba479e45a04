"""One thing that makes a job what it is."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Final

RECENT: Final = timedelta(minutes=30)
"""What lies longer ago explains nothing of now."""


class Gravity(IntEnum):
    """The graver comes first."""

    FINAL = 0
    """The job has ended, or is not there to go on."""
    BLOCKED = 1
    """Stays so until somebody acts."""
    WAITING = 2
    """May pass by itself."""
    COMING = 3
    """Passes by itself, as it should."""
    NOTED = 4
    """Does not keep the job from training."""


@dataclass(frozen=True, kw_only=True)
class Cause:
    reason: str
    """One word in CamelCase, for scripts."""
    gravity: Gravity
    said: str
    """What it is, since when, and what happens or must be done: one or two sentences."""
    command: str
    """What to type next."""


def clock(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%H:%M:%S UTC")


def ended(sentence: str) -> str:
    """With a full stop, whoever has written it."""
    text = " ".join(sentence.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."
