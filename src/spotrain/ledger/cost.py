"""What a job's nodes cost on spot, and what the same useful work would have cost on demand."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True)
class Cost:
    node_hours: float
    spot_usd: float
    on_demand_usd: float
    """For the same useful work, not for the same hours."""
    saved_fraction: float | None
    """None where no useful work was done, for then there is nothing to compare with."""


def cost(
    nodes: Iterable[tuple[float, float]],
    *,
    spot_usd_per_hour: float,
    on_demand_usd_per_hour: float,
    goodput: float,
) -> Cost:
    """Price the lives of nodes, (start, end) in seconds, at one node's price an hour.

        spot      = node hours * spot price
        on demand = node hours * goodput * on-demand price
        saved     = 1 - spot / on demand  =  1 - (1 - discount) / goodput

    Spot nodes are paid for while they boot, wait, re-form and redo lost steps. On-demand nodes are
    not taken back, so they are charged only for the share of those hours that did lasting work, as
    though they started in no time and never stopped: that is kind to the rival, so the saving is
    understated rather than overstated. Both run the same number of nodes, so scaling cancels out.
    Example: 4 nodes for 10 h at $0.158 against $0.526 and a goodput of 0.95 cost $6.32 against
    40 h * 0.95 * $0.526 = $19.99, which saves 68.4 %, where the price list alone says 70.0 %.
    """
    for name, price in (("spot", spot_usd_per_hour), ("on-demand", on_demand_usd_per_hour)):
        if price < 0:
            raise ValueError(f"the {name} price is {price} dollars an hour, but must be 0 or more")
    if not 0 <= goodput < math.inf:  # a little above 1 is noise in the measured full speed
        raise ValueError(f"goodput is {goodput}, but must be a share of what the nodes could do")
    node_hours = 0.0
    for start, end in nodes:
        if end < start:
            raise ValueError(f"a node's life is {(start, end)}, but must be (start, end) in order")
        node_hours += (end - start) / SECONDS_PER_HOUR
    spot = node_hours * spot_usd_per_hour
    on_demand = node_hours * goodput * on_demand_usd_per_hour
    return Cost(node_hours, spot, on_demand, 1 - spot / on_demand if on_demand > 0 else None)
