"""How often to save: from what a save costs, and from how often work is lost.

Young's formula (J. W. Young, A first order approximation to the optimum checkpoint interval, CACM
17(9), 1974; refined by J. T. Daly, Future Generation Computer Systems 22, 2006): saves that stop
training for C seconds, and interruptions every M seconds that each lose half an interval on the
mean, waste least at

    tau = sqrt(2 C M)

An interruption with a notice loses nothing here, because the planned change saves first. So only
the share 1 - q of interruptions that come without one counts, and M becomes M / (1 - q):

    tau = sqrt(2 C M / (1 - q))

C is what training waits for: the copy of the state where saves go on beside training, not the time
to write it.
"""

import math
from dataclasses import dataclass
from typing import Final

PRIOR_INTERRUPTION_SECONDS: Final = 7200.0
"""Counts as one interruption in two hours, unannounced, until a job has seen more: spot V100s in
groups of 16 lost nodes 0.3 to 0.5 times an hour (SkyPilot's published traces)."""
MAX_OVERHEAD: Final = 0.035
"""Share of time that saves may cost (the bound of CheckFreq, FAST 2021)."""
SHORTEST_SECONDS, LONGEST_SECONDS = 10.0, 1800.0
"""Below, the volume sees nothing but saves; above, a single loss without notice hurts too much."""


@dataclass(frozen=True)
class Seen:
    """What a job has lived through, over all its worlds and processes."""

    seconds: float = 0.0
    """Trained so far."""
    losses: int = 0
    """Interruptions that lost work: those without a notice, a share 1 - q of all."""

    @property
    def seconds_between_losses(self) -> float:
        """M / (1 - q), with the prior as one more loss.

        M is seconds / interruptions and 1 - q is losses / interruptions, so that what came with a
        notice need not be counted.
        """
        return (self.seconds + PRIOR_INTERRUPTION_SECONDS) / (self.losses + 1)


def best_interval(
    *, stall_seconds: float, write_seconds: float, seconds_between_losses: float
) -> float:
    """Seconds from one save to the next.

    Args:
        stall_seconds: training waits for this long at each save.
        write_seconds: a save takes this long until it counts, most of it beside training.
        seconds_between_losses: mean time between interruptions that lose work: M / (1 - q).
    """
    best = math.sqrt(2 * stall_seconds * seconds_between_losses)
    bounded = max(best, stall_seconds / MAX_OVERHEAD, 2 * write_seconds, SHORTEST_SECONDS)
    return min(bounded, max(LONGEST_SECONDS, stall_seconds / MAX_OVERHEAD))


def expected_waste(
    interval_seconds: float, *, stall_seconds: float, seconds_between_losses: float
) -> float:
    """Share of time that goes into saves and into work done twice, to first order."""
    return stall_seconds / interval_seconds + interval_seconds / (2 * seconds_between_losses)
