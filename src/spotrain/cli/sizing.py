"""How a number of GPUs becomes workers, and whether the platform has them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from spotrain.cli.errors import UserError
from spotrain.cli.wording import count
from spotrain.job import CAPACITIES, CapacityPolicy, Pool


@dataclass(frozen=True)
class Size:
    """Workers of a job."""

    workers: int
    min_workers: int
    gpus_per_worker: int
    """0 on pools without GPUs, where a worker is counted instead of a GPU."""

    @property
    def wording(self) -> str:
        each = f" of {count(self.gpus_per_worker, 'GPU')}" if self.gpus_per_worker else ""
        return f"{count(self.workers, 'worker')}{each}"


def choose_size(pools: Sequence[Pool], *, gpus: int, min_gpus: int | None) -> Size:
    """The fewest workers that no pool's nodes have to be torn apart for.

    A worker lives on one node. A job that fits on one is one worker, or the parts that `min_gpus`
    allows it to shrink to; a larger one has workers that fill nodes without a rest. Of several
    pools those with the fewest GPUs per node decide, so that each of them can serve the job.

    Args:
        pools: the ones that the job may use and that are large enough for it (`fitting_pools`).
        min_gpus: below which the job waits; None: it goes on with one worker.

    Raises:
        UserError: numbers that contradict each other.
    """
    if min_gpus is not None and min_gpus > gpus:
        raise UserError(f"--min-gpus {min_gpus} is more than --gpus {gpus}; lower it.")
    per_node = min(pool.gpus_per_node for pool in pools)
    if per_node == 0:
        return Size(gpus, min_gpus or 1, 0)
    common = gcd(gpus, min_gpus) if min_gpus else gpus
    each = common if gpus <= per_node else gcd(common, per_node)
    return Size(gpus // each, (min_gpus or each) // each, each)


def fitting_pools(
    pools: Sequence[Pool],
    *,
    gpu: str | None,
    gpus: int,
    names: Sequence[str],
    capacity: CapacityPolicy,
) -> list[Pool]:
    """The pools that can serve a job of so many GPUs in one zone.

    Raises:
        UserError: there is none; it names what there is.
    """
    if not pools:
        raise UserError("the platform offers no pools of nodes; ask its administrator for one.")
    if unknown := sorted(set(names) - {pool.name for pool in pools}):
        known = ", ".join(pool.name for pool in pools)
        raise UserError(f"there is no pool {unknown[0]!r}; there are: {known}.")
    types = sorted({pool.gpu for pool in pools})
    if gpu is None and len(types) > 1:
        raise UserError(f"which GPUs? Name one by --gpu-type: {', '.join(types)}.")
    gpu = types[0] if gpu is None else gpu
    if gpu not in types:
        raise UserError(f"there is no GPU type {gpu!r}; there are: {', '.join(types)}.")
    asked = [
        pool
        for pool in pools
        if pool.gpu == gpu
        and pool.capacity in CAPACITIES[capacity]
        and (not names or pool.name in names)
    ]
    if not asked:
        raise UserError(
            f"no pool has GPU type {gpu!r} with capacity {capacity}"
            + (f" among {', '.join(names)}" if names else "")
            + "; spotrain gpus shows what there is."
        )
    fitting = [pool for pool in asked if most_gpus(pool) is None or gpus <= (most_gpus(pool) or 0)]
    if not fitting:
        rooms = ", ".join(f"{pool.name} {most_gpus(pool)}" for pool in asked)
        most = max(most_gpus(pool) or 0 for pool in asked)
        raise UserError(
            f"{count(gpus, 'GPU')} of type {gpu} are more than a zone can have ({rooms}). Ask for "
            f"--gpus {most} or less, or the administrator for larger pools."
        )
    return fitting


def most_gpus(pool: Pool) -> int | None:
    """Of one zone of the pool, fully grown; None: it has none that are counted."""
    return pool.gpus_per_node * pool.max_nodes if pool.gpus_per_node else None
