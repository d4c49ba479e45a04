"""Forty steps with everything that draws at random or keeps state: `exact.py OUTPUT [--shard]`.

Steps are slow until the file OUTPUT/fast is there, so that a test can interrupt them however fast
the machine is. Rank 0 leaves all that was trained in OUTPUT/state.
"""

import argparse
import random
import time
from pathlib import Path

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.utils.data import Dataset

import spotrain.train as elastic

SAMPLES, EPOCHS = 80, 4

parser = argparse.ArgumentParser()
parser.add_argument("output", type=Path)
parser.add_argument("--shard", action="store_true", help="FSDP2 instead of DDP")
options = parser.parse_args()
output: Path = options.output


class Noisy(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Augmented at random, by torch's and by Python's generator."""

    def __init__(self) -> None:
        self._x = torch.randn(SAMPLES, 8, generator=torch.Generator().manual_seed(1))

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        x = self._x[index]
        return x + 0.1 * torch.randn(8) + 0.1 * random.random(), x.sum(0, keepdim=True)


def train(run: elastic.Run) -> None:
    torch.set_num_threads(1)
    model = run.wrap(
        nn.Sequential(
            nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1)
        ),
        shard=fully_shard if options.shard else None,
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=1000)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20, growth_interval=3)
    loader = run.loader(Noisy(), global_batch=8, micro_batch=2, workers=1)
    run.track(model=model, optimizer=optimizer, scheduler=scheduler, scaler=scaler)
    for _epoch in run.epochs(EPOCHS):
        for x, y in loader:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = nn.functional.mse_loss(model(x), y)
            run.backward(scaler.scale(loss))
            if loader.ends_step:
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
                scheduler.step()
                if not (output / "fast").exists():
                    time.sleep(0.4)
                run.step(loss=loss)
    state = [model.module.state_dict(), optimizer.state_dict()]
    state += [scheduler.state_dict(), scaler.state_dict()]
    text = repr(flat(state))  # on every rank: shards come together
    if run.is_main:
        (output / "state").write_text(text)


def flat(value: object) -> object:
    """Numbers of tensors to their last digit."""
    if isinstance(value, DTensor):
        value = value.full_tensor()
    if isinstance(value, torch.Tensor):
        return [number.hex() for number in value.flatten().double().tolist()]
    if isinstance(value, dict):
        return {key: flat(item) for key, item in value.items()}
    return [flat(item) for item in value] if isinstance(value, list) else value


elastic.run(train, output=output, checkpoint_seconds=0.5)
