"""Steps of 57 samples in a world of any size: `constant_step.py OUTPUT [--epochs N]`.

Without --epochs it goes on until the file OUTPUT/enough is there. In double precision, without
batch normalisation and dropout, so that worlds of different sizes differ by the rounding of sums
alone. Rank 0 appends what each step was to OUTPUT/steps.jsonl, and leaves OUTPUT/weights.json.
"""

import argparse
import json
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import TensorDataset

import spotrain.train as elastic

SAMPLES, STEP, MICRO_BATCH = 400, 57, 10
"""The last step of an epoch has one sample, so that most ranks have none."""

parser = argparse.ArgumentParser()
parser.add_argument("output", type=Path)
parser.add_argument("--epochs", type=int)
options = parser.parse_args()


def train(run: elastic.Run) -> None:
    torch.set_num_threads(1)
    model = run.wrap(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)).double())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=30)
    generator = torch.Generator().manual_seed(1)
    data = torch.randn(SAMPLES, 8, dtype=torch.float64, generator=generator)
    noise = torch.randn(SAMPLES, 1, dtype=torch.float64, generator=generator)
    dataset = TensorDataset(data, data.sum(1, keepdim=True).sin() + noise)
    loader = run.loader(dataset, global_batch=STEP, micro_batch=MICRO_BATCH)
    run.track(model=model, optimizer=optimizer, scheduler=scheduler)
    for epoch in run.epochs(options.epochs or 100_000):
        for x, y in loader:
            run.backward(nn.functional.mse_loss(model(x), y))
            if not loader.ends_step:
                continue
            optimizer.step()
            optimizer.zero_grad()
            step = {
                "step": run.steps_done + 1,
                "epoch": epoch,
                "left": loader.steps_left,
                "lr": optimizer.param_groups[0]["lr"],
                "schedule": scheduler.last_epoch,
            }
            scheduler.step()
            if run.is_main:
                with (options.output / "steps.jsonl").open("a") as steps:
                    steps.write(json.dumps(step) + "\n")
            if not options.epochs:
                time.sleep(0.05)
            run.step()
        if run.sum(torch.tensor(int((options.output / "enough").exists()))):
            break
    if run.is_main:
        weights = {name: values.tolist() for name, values in model.module.state_dict().items()}
        (options.output / "weights.json").write_text(json.dumps(weights))


elastic.run(train, output=options.output, checkpoint_seconds=0.5)
