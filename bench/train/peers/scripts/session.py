"""The same work on the training library.

    session.py OUTPUT [--step-seconds S] [--save-every N] [--steps N]

Checkpoints are as far apart in time as those of plain.py.
"""

import argparse
import os
from pathlib import Path

import torch
from torch import nn

import spotrain.train as elastic
from bench.train.peers.scripts.work import BATCH, Pace, build
from bench.train.peers.steps import StepLog

parser = argparse.ArgumentParser()
parser.add_argument("output", type=Path)
parser.add_argument("--step-seconds", type=float, default=0.025)
parser.add_argument("--save-every", type=int, default=20)
parser.add_argument("--steps", type=int, default=10**9)
options = parser.parse_args()

log = StepLog(os.environ)


def train(run: elastic.Run) -> None:
    module, data = build()
    model = run.wrap(module)
    optimizer = torch.optim.Adam(model.parameters())
    criterion = nn.CrossEntropyLoss()
    loader = run.loader(data, batch_size=BATCH)
    run.track(model=model, optimizer=optimizer)
    pace = Pace(options.step_seconds)
    for _epoch in run.epochs(10**9):
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            pace.end_step()
            step = run.steps_done + 1
            log.done(world=str(run.world), size=run.world_size, rank=run.rank, step=step)
            run.step(loss=loss)
            if step >= options.steps:
                return


seconds = options.step_seconds * options.save_every
elastic.run(train, output=options.output, checkpoint_seconds=seconds)
