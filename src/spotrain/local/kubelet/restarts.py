"""Whether and when a container that has ended starts again. Pure."""

from typing import Final

LONGEST_BACKOFF_SECONDS: Final = 300.0


def restarts(policy: str, exit_code: int, *, is_init: bool) -> bool:
    """By the pod's restartPolicy. An init container that has succeeded is done for good."""
    if exit_code == 0:
        return policy == "Always" and not is_init
    return policy in ("Always", "OnFailure")


def backoff_seconds(first: float, count: int) -> float:
    """The pause before the restart that has `count` before it."""
    return float(min(LONGEST_BACKOFF_SECONDS, first * 2 ** min(count, 10)))
