"""Host time per index: our sampler beside torch's DistributedSampler, as a data loader drives them.

    python -m bench.train.sampler [--rounds 7]

Both go through one rank's whole epoch in batches, the order included; they take turns within each
round, so that whatever else the machine does hits both. Time is the thread's on the processor.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterable
from statistics import median
from typing import Any, Final

import torch
from torch.utils.data import BatchSampler, DistributedSampler

from bench import kept
from bench.machine import begun
from spotrain.train.batching import Batching
from spotrain.train.sampler import ElasticBatchSampler

SIZES: Final = (50_000, 1_300_000)
WORLDS: Final = (1, 4, 16)
BATCHES: Final = (1, 32, 256)


def peers(size: int, world_size: int, batch_size: int) -> dict[str, Callable[[], Iterable[object]]]:
    """Each makes the batches of the last rank."""
    rank = world_size - 1
    data: Any = range(size)

    def ours() -> Iterable[object]:
        return elastic(Batching(batch_size))

    def ours_constant_step() -> Iterable[object]:
        return elastic(Batching(batch_size, global_batch=2 * batch_size * world_size))

    def elastic(batching: Batching) -> Iterable[object]:
        return ElasticBatchSampler(
            size, batch_size=batching, rank=rank, world_size=world_size, seed=0, epoch=0
        ).batches()

    def stock() -> Iterable[object]:
        sampler: DistributedSampler[int] = DistributedSampler(
            data, num_replicas=world_size, rank=rank
        )
        return BatchSampler(sampler, batch_size, drop_last=False)

    return {"ours": ours, "ours, constant step": ours_constant_step, "DistributedSampler": stock}


def nanoseconds_per_index(
    size: int, world_size: int, batch_size: int, rounds: int
) -> dict[str, list[float]]:
    made = peers(size, world_size, batch_size)
    found: dict[str, list[float]] = {name: [] for name in made}
    for number in range(rounds + 1):  # the first round only warms up
        for name, make in made.items():
            before = time.thread_time_ns()
            for _ in make():
                pass
            spent = time.thread_time_ns() - before
            if number:
                found[name].append(round(spent / (size / world_size), 2))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = begun() | {"cases": []}
    for size in SIZES:
        for world_size in WORLDS:
            for batch_size in BATCHES:
                raw = nanoseconds_per_index(size, world_size, batch_size, options.rounds)
                case = {"size": size, "world_size": world_size, "batch_size": batch_size}
                found["cases"].append({**case, "ns_per_index": raw})
                print(case, {name: median(times) for name, times in raw.items()}, flush=True)
    kept.keep("sampler", found | {"load_after": os.getloadavg()})


if __name__ == "__main__":
    main()
