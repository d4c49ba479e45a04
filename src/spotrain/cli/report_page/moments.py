"""Moments and stretches of time as the page writes them. All moments are UTC."""

from datetime import UTC, datetime

_UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


def lasted(seconds: float) -> str:
    """In the two largest units: 0.12 s, 45 s, 3 min 20 s, 5 h 2 min, 3 d 4 h."""
    if seconds < 10:
        return f"{max(0.0, seconds):.2g} s" if seconds else "0 s"
    left = round(seconds)
    for place, (unit, size) in enumerate(_UNITS):
        if left >= size:
            whole, rest = divmod(left, size)
            if place + 1 == len(_UNITS):
                return f"{whole} {unit}"
            next_unit, next_size = _UNITS[place + 1]
            part = rest // next_size
            return f"{whole} {unit} {part} {next_unit}" if part else f"{whole} {unit}"
    return "0 s"


def day(at: datetime) -> str:
    """1 Aug 2026."""
    at = at.astimezone(UTC)
    return f"{at.day} {at:%b %Y}"


def clock(at: datetime) -> str:
    return f"{at.astimezone(UTC):%H:%M:%S}"


def moment(at: datetime) -> str:
    """1 Aug 12:00:30."""
    at = at.astimezone(UTC)
    return f"{at.day} {at:%b %H:%M:%S}"
