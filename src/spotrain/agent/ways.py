"""The ways back into training after a world has ended, and which of them may be taken."""

from collections.abc import Mapping
from enum import StrEnum

from spotrain import contract


class Way(StrEnum):
    """In the order in which they are tried; what none of them can do is done by a cold start."""

    IN_PLACE = "in-place"
    """After a planned change the training function goes on where it is."""
    CALL_AGAIN = "call-again"
    """The training function is called again in the living process."""
    WARM = "warm"
    """A new process is forked from one that has imported torch."""


def read_ways(environment: Mapping[str, str]) -> frozenset[Way]:
    """
    Raises:
        ValueError: the environment names a way that does not exist.
    """
    text = environment.get(contract.ENV_WAYS_BACK)
    if text is None:
        return frozenset(Way)
    names = [name for name in text.replace(",", " ").split() if name != "cold"]
    unknown = [name for name in names if name not in list(Way)]
    if unknown:
        raise ValueError(
            f"{contract.ENV_WAYS_BACK}={text!r} names {unknown[0]!r}, which is no way back into "
            f"training. Name some of {', '.join(Way)}, or cold for none of them."
        )
    return frozenset(Way(name) for name in names)
