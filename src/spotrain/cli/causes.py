"""What the time of a job is lost to, in words: the causes of `ledger.time_split`."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Final, NamedTuple

from spotrain.cli.wording import span
from spotrain.ledger.time_split import LostSeconds


class Cause(NamedTuple):
    word: str
    meaning: str


CAUSES: Final[Mapping[str, Cause]] = {
    "waiting_for_nodes": Cause("waiting for nodes", "too few workers had a node"),
    "back_off": Cause("back-off", "workers had failed, and the next try was not due yet"),
    "image_pull": Cause("image pull", "enough workers had a node, but not their image yet"),
    "forming": Cause("forming and start", "workers met, loaded and did a first step"),
    "redone": Cause("steps done again", "no later world built on them"),
    "save_stall": Cause("checkpoints", "training stood still to save"),
    "data_wait": Cause("waiting for data", "training waited for its data loader"),
    "below_min": Cause("below min", "some workers ran, but fewer than the job needs"),
    "idle": Cause("idle", "a world hung, or training was done and the job had not ended"),
}
"""By the names of the fields of LostSeconds."""


def lost_in_words(lost: LostSeconds) -> str:
    """forming and start 23 s, idle 4 s: the worst first, without what took no second."""
    worst = sorted(asdict(lost).items(), key=lambda cause: -cause[1])
    told = [f"{CAUSES[name].word} {span(seconds)}" for name, seconds in worst if seconds >= 1]
    return ", ".join(told) or "nothing"
