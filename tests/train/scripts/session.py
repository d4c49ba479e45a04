"""A small regression on the training library, until the file OUTPUT/enough is there.

    session.py OUTPUT [--pause SECONDS] [--epochs N] [--fail-at STEP] [--hang-at STEP]

The ranks look for the file together at the end of each epoch, so that a test decides when the job
is over, however fast the machine is.
"""

import argparse
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import TensorDataset

import spotrain.train as elastic

SAMPLES = 400

parser = argparse.ArgumentParser()
parser.add_argument("output", type=Path)
parser.add_argument("--pause", type=float, default=0.02)
parser.add_argument("--epochs", type=int, default=100_000)
parser.add_argument("--fail-at", type=int)
parser.add_argument("--hang-at", type=int, help="rank 0 hangs there, once")
options = parser.parse_args()
HUNG = options.output / "hung"


def train(run: elastic.Run) -> None:
    torch.set_num_threads(1)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    wrapped = run.wrap(model)
    x = torch.randn(SAMPLES, 8, generator=torch.Generator().manual_seed(1))
    loader = run.loader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=4)
    run.track(model=wrapped, optimizer=optimizer)
    for _epoch in run.epochs(options.epochs):
        for features, target in loader:
            loss = ((wrapped(features) - target) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(options.pause)
            if run.steps_done == options.fail_at:
                raise ValueError("the script has a fault")
            if run.steps_done == options.hang_at and run.is_main and not HUNG.exists():
                HUNG.touch()
                time.sleep(3600)
            run.step(loss=loss)
            print(f"world {run.world} rank {run.rank} of {run.world_size}", flush=True)
        own = sum(float(weights.detach().sum()) for weights in model.parameters())
        mean = float(run.sum(torch.tensor(own, dtype=torch.float64))) / run.world_size
        assert abs(mean - own) < 1e-6, "the ranks' models differ"
        if run.sum(torch.tensor(int((options.output / "enough").exists()))):
            return


elastic.run(train, output=options.output, checkpoint_seconds=0.5)
