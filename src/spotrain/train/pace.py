"""What saves of this run cost, how often they are worth it, and whether one fits into a notice."""

import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from spotrain import contract
from spotrain.train.interval import Seen, best_interval
from spotrain.train.usage import UsageError

log = logging.getLogger(__name__)

FIRST_SECONDS: Final = 60.0
"""Between saves, until one has shown what it costs."""
NOTICE_SHARE: Final = 0.75
"""Of the notice: a change that takes longer is treated as a loss by the coordinator."""
SAVES_IN_A_NOTICE: Final = 2
"""The one that is running when the notice comes, and the one for the change itself."""
NEWS: Final = 1.2
"""An interval that differs by less from the one that was logged is not worth another line."""


@dataclass(frozen=True)
class Cost:
    """Of one save, as measured."""

    stall_seconds: float
    """Training waited for it."""
    seconds: float
    """Until it counted."""
    bytes: int


class Pace:
    """Rank 0's book on its saves. What it has seen goes into every checkpoint, and comes back."""

    def __init__(
        self,
        fixed_seconds: float | None,
        *,
        fit_notice: bool = True,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._fixed_seconds = fixed_seconds
        self._fit_notice = fit_notice
        self._grace_seconds = read_grace(environment)
        self._beside: Cost | None = None
        self._seen = Seen()
        self._since = time.monotonic()
        self._logged_seconds = 0.0
        self._warned = False

    @property
    def seconds(self) -> float:
        """From one save to the next."""
        if self._fixed_seconds is not None:
            return self._fixed_seconds
        if self._beside is None:
            return FIRST_SECONDS
        return best_interval(
            stall_seconds=self._beside.stall_seconds,
            write_seconds=self._beside.seconds,
            seconds_between_losses=self.seen.seconds_between_losses,
        )

    @property
    def seen(self) -> Seen:
        return Seen(self._seen.seconds + time.monotonic() - self._since, self._seen.losses)

    def to_extra(self, *, planned: bool) -> dict[str, Any]:
        """For a manifest; `planned`: nothing is lost by whoever goes on from it."""
        extra: dict[str, Any] = {"seconds": round(self.seen.seconds, 1)}
        extra |= {"losses": self._seen.losses, "planned": planned}
        if self._beside is not None:
            extra["save_seconds"] = round(self._beside.seconds, 1)
            extra["save_bytes"] = self._beside.bytes
        return extra

    def take_up(self, extra: Mapping[str, Any]) -> None:
        """Go on with what a checkpoint's world had seen; its end is one more loss if unplanned."""
        losses = int(extra.get("losses", 0)) + (not extra.get("planned"))
        self._seen = Seen(float(extra.get("seconds", 0.0)), losses)
        self._since = time.monotonic()
        if "save_seconds" in extra:
            seconds = float(extra["save_seconds"])
            self._warn(Cost(seconds, seconds, int(extra["save_bytes"])))

    def note(self, cost: Cost) -> None:
        """A save beside training has ended."""
        self._beside = cost
        if self._fixed_seconds is None and not _is_near(self.seconds, self._logged_seconds):
            self._logged_seconds = self.seconds
            log.info(
                "saves every %.0f s: one stops training for %.2f s and takes %.1f s in all, and "
                "work is lost once in %.1f hours",
                self.seconds,
                cost.stall_seconds,
                cost.seconds,
                self.seen.seconds_between_losses / 3600,
            )
        self._warn(cost)

    def _warn(self, cost: Cost) -> None:
        if not self._warned and (problem := self.unfit(cost)):
            self._warned = True
            log.error("%s", problem)

    def unfit(self, cost: Cost) -> str:
        """Why saves like this one could not be done within a notice; "" if they can."""
        if self._grace_seconds is None:
            return ""
        needed, given = SAVES_IN_A_NOTICE * cost.seconds, NOTICE_SHARE * self._grace_seconds
        if needed <= given:
            return ""
        return (
            f"a save of {cost.bytes / 1e6:.0f} MB took {cost.seconds:.1f} s; a notice has to hold "
            f"{SAVES_IN_A_NOTICE} (one may be running), {needed:.0f} s, but of its "
            f"{self._grace_seconds:.0f} s a change may take {given:.0f} s. Next: a longer "
            "notice (pool, terminationGracePeriodSeconds), a faster volume, less state, or "
            "fit_notice=False"
        )

    def require_fit(self, cost: Cost) -> None:
        """Log what a notice has time for before that is needed.

        Raises:
            UsageError: saves as slow as this first one cannot be done within a notice.
        """
        if self._grace_seconds is not None:
            log.info(
                "a save of %.0f MB takes %.1f s; a notice of %.0f s has time for %.0f s of saving",
                cost.bytes / 1e6,
                cost.seconds,
                self._grace_seconds,
                NOTICE_SHARE * self._grace_seconds,
            )
        if problem := self.unfit(cost):
            if self._fit_notice:
                raise UsageError(problem)
            self._warn(cost)


def read_grace(environment: Mapping[str, str]) -> float | None:
    """Seconds from a notice to the end, as the agent has them; None outside of a pod."""
    text = environment.get(contract.ENV_GRACE_SECONDS, "")
    return float(text) if text else None  # the agent has checked it


def _is_near(seconds: float, other: float) -> bool:
    return other / NEWS <= seconds <= other * NEWS
