"""A token bucket: how much of something may happen, at once and in the long run. Pure."""

from dataclasses import dataclass, field


@dataclass
class Bucket:
    """Holds up to `burst` tokens, which come back at `rate` a second; it begins full."""

    rate: float
    burst: float
    at: float
    """When `tokens` was true, in seconds of the caller's clock."""
    tokens: float = field(init=False)

    def __post_init__(self) -> None:
        self.tokens = self.burst

    def take(self, amount: float, now: float) -> bool:
        """Whether there was enough; what is not there is not taken."""
        self.tokens, self.at = self._level(now), max(self.at, now)
        if amount > self.tokens:
            return False
        self.tokens -= amount
        return True

    def is_full(self, now: float) -> bool:
        return self._level(now) >= self.burst

    def _level(self, now: float) -> float:
        return min(self.burst, self.tokens + self.rate * max(0.0, now - self.at))
