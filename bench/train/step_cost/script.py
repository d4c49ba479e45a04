"""Steps with the session and without it, in turns, in the same processes: script.py OUTPUT BLOCKS.

A step is real work and 20 ms of waiting, about 25 ms in all; unlike a pace, which would hide what
the session costs, the wait is always the same. Rank 0 writes the seconds of each block of steps.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

import spotrain.train as elastic
from bench.train.peers.scripts.work import BATCH, build

BLOCK = 40
"""Steps: about a second, in which progress is told twice."""
WAIT_SECONDS = 0.02
WARM_UP = 2
"""Blocks of each kind that are not counted."""

parser = argparse.ArgumentParser()
parser.add_argument("output", type=Path)
parser.add_argument("blocks", type=int)
options = parser.parse_args()

Batch = tuple[torch.Tensor, torch.Tensor]
criterion = nn.CrossEntropyLoss()


def work(model: nn.Module, optimizer: torch.optim.Optimizer, batch: Batch) -> torch.Tensor:
    x, y = batch
    loss: torch.Tensor = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    time.sleep(WAIT_SECONDS)
    return loss


def plain_blocks(run: elastic.Run) -> Iterator[float]:
    """Seconds of blocks of plain DistributedDataParallel, over the same process group."""
    module, data = build()
    model = DistributedDataParallel(module)
    optimizer = torch.optim.Adam(model.parameters())
    sampler: DistributedSampler[Batch] = DistributedSampler(data, run.world_size, run.rank)
    loader = DataLoader(data, BATCH, sampler=sampler)
    epoch, count = 0, 0
    began = time.perf_counter()
    while True:
        sampler.set_epoch(epoch)
        for batch in loader:
            work(model, optimizer, batch)
            count += 1
            if count % BLOCK == 0:
                yield time.perf_counter() - began
                began = time.perf_counter()
        epoch += 1


def train(run: elastic.Run) -> list[tuple[float, float]]:
    """Pairs of seconds: a block with the session, and the block without it that came next."""
    module, data = build()
    model = run.wrap(module)
    optimizer = torch.optim.Adam(model.parameters())
    loader = run.loader(data, batch_size=BATCH)
    run.track(model=model, optimizer=optimizer)
    plain = plain_blocks(run)
    pairs = []
    began = time.perf_counter()
    for _epoch in run.epochs(10**9):
        for batch in loader:
            loss = work(model, optimizer, batch)
            run.step(loss=loss)
            if run.steps_done % BLOCK:
                continue
            seconds = time.perf_counter() - began
            pairs.append((seconds, next(plain)))
            if len(pairs) == options.blocks + WARM_UP:
                return pairs[WARM_UP:]
            began = time.perf_counter()
    raise AssertionError("there always is another epoch")


def keep(run: elastic.Run) -> None:
    pairs = train(run)
    if run.is_main:
        (options.output / "blocks.json").write_text(json.dumps({"steps": BLOCK, "seconds": pairs}))


elastic.run(keep, output=options.output, checkpoint_seconds=1e6)
