"""A small regression on the training library, until the file OUTPUT/enough is there.

    session.py OUTPUT [--pause SECONDS] [--epochs N] [--fail-at STEP] [--hang-at STEP]
               [--hang-in-data SAMPLE] [--hang-in-abort] [--ballast BYTES]
               [--slow-volume SECONDS] [--checkpoints PLACE] [--swallow]

The ranks look for the file together at the end of each epoch, so that a test decides when the job
is over, however fast the machine is.
"""

import argparse
import contextlib
import os
import sys
import time
from pathlib import Path
from typing import Any

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
parser.add_argument("--hang-in-data", type=int, help="rank 1 hangs at its Nth sample, once")
parser.add_argument("--hang-in-abort", action="store_true", help="rank 0 leaves no broken world")
parser.add_argument("--ballast", type=int, default=0, help="bytes more in each checkpoint")
parser.add_argument("--slow-volume", type=float, default=0, help="until it says: on the disk")
parser.add_argument("--swallow", action="store_true", help="continue after errors of a step")
parser.add_argument("--checkpoints", help="their output, if not OUTPUT itself")
options = parser.parse_args()
HUNG = options.output / "hung"


def hang() -> None:
    HUNG.touch()
    time.sleep(3600)


class Samples(TensorDataset):
    reads = 0

    def __getitem__(self, index: int) -> Any:
        self.reads += 1
        is_there = self.reads == options.hang_in_data and os.environ["RANK"] == "1"
        if is_there and not HUNG.exists():
            hang()
        return tuple(tensor[index] for tensor in self.tensors)


class Ballast:
    """Makes a checkpoint so large that a limit can hit it and nothing else."""

    def state_dict(self) -> dict[str, Any]:
        return {"bytes": torch.zeros(options.ballast, dtype=torch.uint8)}

    def load_state_dict(self, _: dict[str, Any]) -> None:
        pass


def hang_in_abort() -> None:
    if os.environ["RANK"] == "0" and not HUNG.exists():
        hang()
    leave()


def sync_slowly(file: int) -> None:
    time.sleep(options.slow_volume)
    sync(file)


sync = os.fsync
if options.slow_volume:
    vars(os)["fsync"] = sync_slowly
leave = torch.distributed.destroy_process_group
if options.hang_in_abort:
    vars(torch.distributed)["destroy_process_group"] = hang_in_abort


def train(run: elastic.Run) -> None:
    print(f"train is called in process {os.getpid()}", file=sys.stderr, flush=True)
    torch.set_num_threads(1)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    wrapped = run.wrap(model)
    x = torch.randn(SAMPLES, 8, generator=torch.Generator().manual_seed(1))
    loader = run.loader(Samples(x, x.sum(1, keepdim=True)), batch_size=4)
    run.track(model=wrapped, optimizer=optimizer, ballast=Ballast())
    for _epoch in run.epochs(options.epochs):
        for features, target in loader:
            with contextlib.suppress(*[Exception] if options.swallow else []):
                loss = ((wrapped(features) - target) ** 2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                time.sleep(options.pause)
                if run.steps_done == options.fail_at:
                    raise ValueError("the script has a fault")
                if run.steps_done == options.hang_at and run.is_main and not HUNG.exists():
                    hang()
                run.step(loss=loss)
                print(f"world {run.world} rank {run.rank} of {run.world_size}", flush=True)
        own = sum(float(weights.detach().sum()) for weights in model.parameters())
        mean = float(run.sum(torch.tensor(own, dtype=torch.float64))) / run.world_size
        assert abs(mean - own) < 1e-6, "the ranks' models differ"
        if run.sum(torch.tensor(int((options.output / "enough").exists()))):
            return


elastic.run(train, output=options.checkpoints or options.output, checkpoint_seconds=0.5)
