"""Who may connect: counts connections, and the strangers and visits of each address. Pure."""

from collections import Counter
from dataclasses import dataclass, field

from spotrain.coordinator.bucket import Bucket
from spotrain.coordinator.limits import DEFAULT, ServerLimits
from spotrain.coordinator.refusals import Cause, Refusal

MAX_ADDRESSES = 4096
"""Remembered at once; an address whose visits are all forgiven is forgotten first."""


@dataclass
class Gate:
    """Usage: `enter` at each new connection, `know` at an accepted hello, `leave` at the end."""

    limits: ServerLimits = DEFAULT
    connections: int = 0
    strangers: Counter[str] = field(default_factory=Counter)
    """By address."""
    visits: dict[str, Bucket] = field(default_factory=dict)

    def enter(self, address: str, now: float) -> Refusal | None:
        """None: the connection may stay. Either way it takes room until it leaves."""
        limits = self.limits
        is_rare = self._visits(address, now).take(1, now)
        self.connections += 1
        self.strangers[address] += 1
        if self.connections > limits.connections:
            words = f"{limits.connections} connections are open, the most that are served"
            return Refusal(Cause.CONNECTIONS, words)
        if self.strangers.total() > limits.strangers:
            words = f"{limits.strangers} connections have not said who they are"
            return Refusal(Cause.STRANGERS, words)
        if self.strangers[address] > limits.strangers_per_address:
            most = limits.strangers_per_address
            words = f"{most} connections of {address} have not said who they are"
            return Refusal(Cause.STRANGERS_PER_ADDRESS, words)
        if not is_rare:
            most_often = f"{limits.visits_per_second:g} times a second"
            return Refusal(Cause.VISITS, f"{address} connects more often than {most_often}")
        return None

    def know(self, address: str) -> None:
        """One of the strangers of this address has been accepted."""
        self.strangers[address] -= 1
        if not self.strangers[address]:
            del self.strangers[address]

    def leave(self, address: str, *, known: bool) -> None:
        self.connections -= 1
        if not known:
            self.know(address)

    def _visits(self, address: str, now: float) -> Bucket:
        if address not in self.visits and len(self.visits) >= MAX_ADDRESSES:
            rare = [known for known, bucket in self.visits.items() if bucket.is_full(now)]
            for known in rare or list(self.visits)[: MAX_ADDRESSES // 2]:
                del self.visits[known]
        return self.visits.setdefault(
            address, Bucket(self.limits.visits_per_second, self.limits.visits, now)
        )
