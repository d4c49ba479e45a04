"""Learn two interleaved spirals: a script to replace by your own.

spotrain run job.yaml --local    on this machine, in workers that may come and go
python train.py                  in one process
"""

import os
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import TensorDataset

import spotrain.train as elastic

EPOCHS = 20
POINTS = 4096
NOISE = 0.03
"""Of the points' places, against a radius of at most 1."""
TURNS = 1.5


def make_data() -> TensorDataset:
    """The same points in every process: x and y of each, and its spiral, 0 or 1."""
    generator = torch.Generator().manual_seed(0)
    label = torch.arange(POINTS) % 2
    radius = torch.rand(POINTS, generator=generator)
    angle = radius * TURNS * 2 * torch.pi + label * torch.pi
    points = torch.stack((radius * angle.cos(), radius * angle.sin()), dim=1)
    return TensorDataset(points + NOISE * torch.randn(points.shape, generator=generator), label)


def train(run: elastic.Run) -> None:
    """Called again, in the same process, when workers come or go."""
    data = make_data()
    model = run.wrap(
        nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loader = run.loader(data, global_batch=128, micro_batch=128)  # the same steps in any world
    run.track(model=model, optimizer=optimizer)  # restores the newest checkpoint
    everything, truth = (tensor.to(run.device) for tensor in data.tensors)
    for epoch in run.epochs(EPOCHS):
        for points, labels in loader:
            loss = cross_entropy(model(points), labels)
            run.backward(loss)
            if loader.ends_step:
                optimizer.step()
                optimizer.zero_grad()
                run.step(loss=loss)  # saves when due; workers come and go here
        # A checkpoint may lie at an epoch's end: the loop has no batch then, and only this is left.
        with torch.no_grad():
            loss = cross_entropy(model(everything), truth)
        if run.is_main:
            print(f"epoch {epoch + 1} of {EPOCHS}: loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    # Checkpoints: in the job's own folder on the shared volume, or beside this script.
    output = os.environ.get("SPOTRAIN_OUTPUT", Path(__file__).parent / "output")
    elastic.run(train, output=output, checkpoint_seconds=5)
