"""Training that ends in one of several ways: endings.py OUTPUT KIND WAY.

KIND is elastic (with the training library) or plain (torch.distributed alone). Rank 1 leaves at
step 5 where WAY is exit, return or os-exit; rank 0 fails after the last step where it is disk-full.
Every rank calls sys.exit(CODE) at step 5 where it is all-exit-CODE. Files in OUTPUT count the runs
that came to an end: `ended-<rank>-<n>`.
"""

import errno
import os
import sys
import uuid
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import TensorDataset

import spotrain.train as elastic

output, kind, way = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
torch.set_num_threads(1)


def is_leaving(rank: int, step: int) -> bool:
    if step != 5:
        return False
    if way.startswith("all-exit-"):
        sys.exit(int(way.removeprefix("all-exit-")) or None)
    if way == "except":
        return False
    if rank == 1 and way == "exit":
        sys.exit(0)
    if rank == 1 and way == "os-exit":
        os._exit(0)
    if rank == 1 and way == "value-error":
        raise ValueError("label 11 is out of range")
    return rank == 1 and way == "return"


def end(rank: int) -> None:
    if way == "disk-full" and rank == 0:
        raise OSError(errno.ENOSPC, "No space left on device", "model.pt")
    (output / f"ended-{rank}-{uuid.uuid4()}").touch()


def train(run: elastic.Run) -> None:
    model = run.wrap(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = run.loader(TensorDataset(torch.ones(80, 4)), batch_size=4)
    run.track(model=model, optimizer=optimizer)
    for _epoch in run.epochs(1):
        for (x,) in loader:
            if is_leaving(run.rank, run.steps_done):
                return
            loss = model(x).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            run.step(loss=loss)


def plain() -> int:
    dist.init_process_group("gloo")
    model = nn.parallel.DistributedDataParallel(nn.Linear(4, 1))
    for step in range(20):
        if is_leaving(dist.get_rank(), step):
            break
        model(torch.ones(4, 4)).sum().backward()
    return dist.get_rank()


output.mkdir(exist_ok=True)
if kind == "elastic":
    elastic.run(train, output=output)
    end(int(os.environ["RANK"]))
else:
    end(plain())
