"""Plain DistributedDataParallel, as torchrun's users write it.

    plain.py OUTPUT [--step-seconds S] [--save-every N] [--steps N] [--agree]

Rank 0 saves every N steps, by write and rename. With --agree it also handles a notice as well as
torchrun lets it: the ranks agree on a step to stop at, save there, and end.
"""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from bench.train.peers.scripts.work import BATCH, SAMPLES, Pace, build
from bench.train.peers.steps import StepLog

parser = argparse.ArgumentParser()
parser.add_argument("output", type=Path)
parser.add_argument("--step-seconds", type=float, default=0.025)
parser.add_argument("--save-every", type=int, default=20)
parser.add_argument("--steps", type=int, default=10**9)
parser.add_argument("--agree", action="store_true")
options = parser.parse_args()

is_told_to_stop = torch.zeros(1, dtype=torch.int32)
if options.agree:
    signal.signal(signal.SIGTERM, lambda *_: is_told_to_stop.fill_(1))

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
name = [f"{os.getpid()}@{time.monotonic_ns()}"]
dist.broadcast_object_list(name, src=0)

module, data = build()
model = DistributedDataParallel(module)
optimizer = torch.optim.Adam(model.parameters())
criterion = nn.CrossEntropyLoss()
checkpoint = options.output / "checkpoint.pt"
step = 0
if checkpoint.exists():
    saved = torch.load(checkpoint)
    step = saved["step"]
    module.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])


def save() -> None:
    if rank == 0:
        partial = checkpoint.with_suffix(f".{os.getpid()}")
        state = {"step": step, "model": module.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(state, partial)
        os.replace(partial, checkpoint)


log, pace = StepLog(os.environ), Pace(options.step_seconds)
while step < options.steps:
    generator = torch.Generator().manual_seed(step * size + rank)
    x, y = data[torch.randint(SAMPLES, (BATCH,), generator=generator)]
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    pace.end_step()
    log.done(world=name[0], size=size, rank=rank, step=step)
    if options.agree:
        stops = is_told_to_stop.clone()
        dist.all_reduce(stops, op=dist.ReduceOp.MAX)
        if stops.item():
            save()
            dist.barrier()
            sys.exit(128 + signal.SIGTERM)  # not 0: an agent would take the job for finished
    if step % options.save_every == 0:
        save()
dist.destroy_process_group()
