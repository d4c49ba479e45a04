"""What nodes cost, line by line, and what the same useful work would have cost on demand.

    saved = 1 - dollars / dollars of the same useful work on demand

Spot nodes are paid for while they boot, wait, re-form and redo lost steps. On-demand nodes are not
taken back, so they are charged only for work that lasts, as though they started in no time and
never stopped: that is kind to the rival, so the saving is understated rather than overstated.
docs/cost.md has the rules.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from spotrain.ledger.attribution import Charge, Use
from spotrain.ledger.entries import Place
from spotrain.ledger.prices import PriceBook, Source

_HOUR = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True)
class Amount:
    """Of some charges together."""

    node_hours: float = 0.0
    gpu_hours: float = 0.0
    usd: float = 0.0
    list_usd: float = 0.0
    """For the same hours on demand, useful or not."""

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(
            node_hours=self.node_hours + other.node_hours,
            gpu_hours=self.gpu_hours + other.gpu_hours,
            usd=self.usd + other.usd,
            list_usd=self.list_usd + other.list_usd,
        )


@dataclass(frozen=True, kw_only=True)
class Line:
    """What a job had of one place, for one use, by the prices of one source."""

    job: str | None
    """None: the platform's."""
    place: Place
    use: Use
    source: Source
    amount: Amount


def bill(charges: Iterable[Charge], book: PriceBook) -> tuple[Line, ...]:
    """Price charges; a line for each job, place, use and source."""
    found: dict[tuple[str | None, Place, Use, Source], Amount] = defaultdict(Amount)
    for charge in charges:
        share = float(charge.share)
        list_price = book.list_usd_per_hour(charge.place)
        for piece in book.over(charge.place, charge.start, charge.end):
            hours = share * ((piece.end - piece.start) / _HOUR)
            found[charge.job, charge.place, charge.use, piece.source] += Amount(
                node_hours=hours,
                gpu_hours=hours * charge.gpus,
                usd=hours * piece.usd_per_hour,
                list_usd=hours * list_price,
            )
    return tuple(
        Line(job=job, place=place, use=use, source=source, amount=amount)
        for (job, place, use, source), amount in found.items()
    )


_Group = TypeVar("_Group", bound=Hashable)


def total(lines: Iterable[Line]) -> Amount:
    return sum((line.amount for line in lines), Amount())


def grouped(lines: Iterable[Line], by: Callable[[Line], _Group]) -> Mapping[_Group, Amount]:
    """In the order in which the groups first occur."""
    found: dict[_Group, Amount] = defaultdict(Amount)
    for line in lines:
        found[by(line)] += line.amount
    return dict(found)


@dataclass(frozen=True)
class Saving:
    usd: float
    on_demand_usd: float
    """For the same useful work, not for the same hours."""

    @property
    def fraction(self) -> float | None:
        """None where no useful work was done, for then there is nothing to compare with."""
        return 1 - self.usd / self.on_demand_usd if self.on_demand_usd > 0 else None


def saving_at(
    *, node_hours: float, usd_per_hour: float, on_demand_usd_per_hour: float, goodput: float
) -> Saving:
    """Where all nodes cost the same all the time: saved = 1 - (1 - discount) / goodput.

    Both sides run the same number of nodes, so scaling cancels out.
    Example: 40 node hours at $0.158 against $0.526 and a goodput of 0.95 cost $6.32 against
    40 h * 0.95 * $0.526 = $19.99, which saves 68.4 %, where the price list alone says 70.0 %.

    Raises:
        ValueError: a price or the hours are below 0, or `goodput` is no share.
    """
    numbers = {
        "node hours are": node_hours,
        "the spot price is": usd_per_hour,
        "the on-demand price is": on_demand_usd_per_hour,
    }
    for name, number in numbers.items():
        if not 0 <= number < math.inf:
            raise ValueError(f"{name} {number}, but must be 0 or more")
    if not 0 <= goodput < math.inf:  # a little above 1 is noise in the measured full speed
        raise ValueError(f"goodput is {goodput}, but must be a share of what the nodes could do")
    return Saving(node_hours * usd_per_hour, node_hours * goodput * on_demand_usd_per_hour)
