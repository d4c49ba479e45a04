"""Numbers and moments as people read them."""

from datetime import datetime
from typing import Final

from spotrain.counts import count as count
from spotrain.ledger.entries import WorldEntry

UNKNOWN_ETTR: Final = "unknown: it has told of no step"
"""Of a job that has not begun to train, or whose script does not tell."""


def span(seconds: float) -> str:
    """`seconds` in the unit that says it in at most three digits: 45 s, 12 min, 5 h, 3 d."""
    seconds = max(0.0, seconds)
    for unit, size, limit in (("s", 1, 120), ("min", 60, 120 * 60), ("h", 3600, 48 * 3600)):
        if seconds < limit:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86400:.0f} d"


def ago(moment: datetime, now: datetime) -> str:
    return f"{span((now - moment).total_seconds())} ago"


def rate(per_second: float | None) -> str:
    """41.3, 0.082 or 1,250 a second; empty where it is not known."""
    if per_second is None:
        return ""
    if per_second >= 100:
        return f"{per_second:,.0f}"
    return f"{per_second:.3g}"


def dollars(usd: float | None) -> str:
    """Two digits behind the point; small sums have four, or a job of a minute costs nothing."""
    if usd is None:
        return ""
    return f"${usd:,.2f}" if usd >= 1 or usd == 0 else f"${usd:.4f}"


def percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"


def ettr(share: float | None) -> str:
    """57.4% of the time in which it wanted to train."""
    if share is None:
        return UNKNOWN_ETTR
    return f"{percent(share)} of the time in which it wanted to train"


def steps(world: WorldEntry) -> str:
    """250 - 1,234: from the step that it began with to its last; empty: it did none."""
    first = world.restored_step or 0
    if world.last_step is None or world.last_step <= first:
        return ""
    return f"{first:,} - {world.last_step:,}"


def size(number: int) -> str:
    """`number` bytes: 512 B, 7.3 MB, 12 GB."""
    scaled = float(number)
    for unit in ("B", "kB", "MB", "GB"):
        if scaled < 999.5:
            return f"{scaled:.3g} {unit}"
        scaled /= 1000
    return f"{scaled:,.3g} TB"
