"""What a job will cost while it runs, and how long a budget lasts. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from spotrain.cli.market import told_lately, usd_per_gpu_hour
from spotrain.cli.sizing import Size
from spotrain.cli.wording import dollars, span
from spotrain.job import Pool, Price
from spotrain.next_command import next_command

SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True)
class Outlay:
    """Of all workers together, where they cost least now."""

    pool: str
    usd_per_hour: float
    """0: nobody has named a price."""


def outlay(size: Size, pools: Sequence[Pool], prices: Sequence[Price], now: datetime) -> Outlay:
    """`pools`: those that may serve the job. A worker without GPUs is counted as a whole node."""
    fresh = told_lately(prices, now)
    usd, pool = min((usd_per_gpu_hour(pool, fresh), pool.name) for pool in pools)
    return Outlay(pool, usd * size.workers * max(size.gpus_per_worker, 1))


def budget_in_words(name: str, max_dollars: float, found: Outlay, *, local: bool) -> str:
    """What whoever sets a budget should know of it."""
    if not found.usd_per_hour:
        return f"nobody has named a price for {found.pool}: the budget counts its nodes as nothing."
    lasts = span(SECONDS_PER_HOUR * max_dollars / found.usd_per_hour)
    return (
        f"all workers cost about {dollars(found.usd_per_hour)} an hour now, in {found.pool}: "
        f"{dollars(max_dollars)} last {lasts}. Then the job saves and is suspended, and goes on by "
        f"{next_command('resume', name, '--budget', 'USD', local=local)}."
    )
