"""A regression whose model FSDP2 spreads over the ranks: `sharded.py OUTPUT`.

Goes on until the file OUTPUT/enough is there. The weights follow from the number of steps alone,
so that every world can check what it has restored.
"""

import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.utils.data import TensorDataset

import spotrain.train as elastic

SAMPLES = 400
output = Path(sys.argv[1])


def train(run: elastic.Run) -> None:
    torch.set_num_threads(1)
    # Rows that no world divides evenly.
    model = run.wrap(nn.Sequential(nn.Linear(5, 7), nn.Linear(7, 3)), shard=fully_shard)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.5)
    loader = run.loader(TensorDataset(torch.ones(SAMPLES, 5)), batch_size=2, accumulate=2)
    run.track(model=model, optimizer=optimizer)
    for _epoch in run.epochs(100_000):
        for (x,) in loader:
            run.backward(model(x).sum())
            if not loader.ends_step:
                continue
            for weights in model.parameters():
                assert isinstance(weights.grad, DTensor)
                weights.grad.to_local().fill_(1.0)
            optimizer.step()
            optimizer.zero_grad()
            time.sleep(0.02)
            run.step(loss=0.0)
            first = next(iter(model.parameters()))
            momentum = optimizer.state[first]["momentum_buffer"]
            assert isinstance(momentum, DTensor)
            expected = 2.0 - 0.5 ** (run.steps_done - 1)  # a buffer that was lost starts anew at 1
            local = momentum.to_local()
            assert torch.allclose(local, torch.full_like(local, expected)), (local, expected)
        if run.sum(torch.tensor(int((output / "enough").exists()))):
            return


elastic.run(train, output=output, checkpoint_seconds=0.5)
