"""What a job's pods moved between themselves and the shared volume, and what that cost.

    dollars = GB read x its price + GB written x its price

A pod that nobody counted, and a price that nobody named, are unknown: never 0.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from spotrain.job import StoragePrices
from spotrain.ledger.entries import CamelCase, StayEntry

GB: Final = 1e9


@dataclass(frozen=True, kw_only=True)
class Traffic(CamelCase):
    """Of some pods together."""

    read_bytes: int = 0
    written_bytes: int = 0
    pods: int = 0
    """That ran."""
    counted_pods: int = 0
    """Of these, those of which it is known."""

    def __add__(self, other: "Traffic") -> "Traffic":
        return Traffic(
            read_bytes=self.read_bytes + other.read_bytes,
            written_bytes=self.written_bytes + other.written_bytes,
            pods=self.pods + other.pods,
            counted_pods=self.counted_pods + other.counted_pods,
        )

    @property
    def is_known(self) -> bool:
        """Of any pod; else it says nothing."""
        return self.counted_pods > 0

    def usd(self, prices: StoragePrices | None) -> float | None:
        """Of what is known. None: nothing is, or nobody has named a price."""
        if prices is None or not self.is_known:
            return None
        read = self.read_bytes / GB * prices.read_usd_per_gb
        return read + self.written_bytes / GB * prices.written_usd_per_gb


NO_TRAFFIC: Final = Traffic()


def traffic_of(stays: Iterable[StayEntry]) -> Traffic:
    """Each pod once, as it was told last."""
    return sum(map(_of, {stay.uid: stay for stay in stays}.values()), NO_TRAFFIC)


def _of(stay: StayEntry) -> Traffic:
    return Traffic(
        read_bytes=stay.read_bytes or 0,
        written_bytes=stay.written_bytes or 0,
        pods=int(stay.started_at is not None),
        counted_pods=int(stay.started_at is not None and stay.read_bytes is not None),
    )
