"""Why worlds end, in the words and shapes of the page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from spotrain.ledger.suspensions import SUSPENDED
from spotrain.worlds import Reason


@dataclass(frozen=True, kw_only=True)
class Explained:
    shape: str
    """One of the page's symbols."""
    sentence: str


REASONS: Final[Mapping[str, Explained]] = {
    Reason.LOSS: Explained(
        shape="cross",
        sentence="a worker was gone without notice. The others went back to the newest checkpoint.",
    ),
    Reason.FAILURE: Explained(
        shape="diamond",
        sentence="the training itself failed. What came after it began at the newest checkpoint, "
        "or anew.",
    ),
    Reason.STALL: Explained(
        shape="hourglass", sentence="no step was done any more, so the ranks were started anew."
    ),
    Reason.NOTICE: Explained(
        shape="down",
        sentence="a worker was told to leave. The world stopped at a common step and saved.",
    ),
    SUSPENDED: Explained(
        shape="bars", sentence="somebody, or its budget, suspended the job. It saved, and left."
    ),
    Reason.LIMITS: Explained(shape="square", sentence="the job was given another size."),
    Reason.GROWTH: Explained(shape="up", sentence="a worker came, and was taken in."),
    Reason.RENUMBERED: Explained(
        shape="circle", sentence="the folder held checkpoints of a later world."
    ),
    Reason.FINISHED: Explained(shape="flag", sentence="the training was done."),
}
"""The gravest first, as the figure has them from top to bottom."""
OTHER: Final = "other"
EXPLAINED_OTHER: Final = Explained(shape="circle", sentence="for another reason.")


def word_of(reason: str) -> str:
    """A reason that this version does not know is `other`."""
    return reason if reason in REASONS else OTHER


def explain(word: str) -> Explained:
    return REASONS.get(word, EXPLAINED_OTHER)
