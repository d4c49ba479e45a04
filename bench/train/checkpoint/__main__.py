"""How long a checkpoint stops training: ours beside torch.save and dcp.async_save.

    python -m bench.train.checkpoint [--rounds 7] [--kills 100]

One process, one thread, a model with Adam's state; the three take turns within each round, so that
whatever else the machine does hits all of them. A stall is the time until the call returns; before
the next turn everything is on the disk.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import HashStore  # type: ignore[attr-defined]
from torch.distributed.checkpoint.state_dict_saver import async_save

from bench import kept
from bench.machine import begun
from spotrain.checkpoints.retention import Retention
from spotrain.train import parts
from spotrain.train.checkpoint import Catalogue, CheckpointId
from spotrain.train.saver import Save, Saver
from spotrain.train.solo import SoloChannel
from tests.train.test_checkpoint import DRIVER

WIDTHS: Final = {76: 2517, 302: 5017}
"""Megabytes of state -> width of one square layer whose weights and Adam's two moments are that."""


def training_state(width: int) -> dict[str, Any]:
    """After one step, so that the optimizer has all of its state."""
    model = nn.Linear(width, width, bias=False)
    optimizer = torch.optim.Adam(model.parameters())
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    optimizer.zero_grad()
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict()}


def stalls(folder: Path, width: int, rounds: int) -> dict[str, list[float]]:
    """Seconds that training waits, per peer and round; the first round of each only warms up."""
    state = training_state(width)
    saver = Saver(Catalogue(folder / "ours"), SoloChannel(), Retention(keep=1))

    def ours(number: int) -> Callable[[], object]:
        id = CheckpointId(1, number)
        part = parts.plan(state)
        saver.start(Save(id=id, part=part, epoch=0, cursor=0, parent=None, extra={}))
        return saver.wait

    def torch_save(number: int) -> Callable[[], object]:
        torch.save(state, folder / "state.pt")
        return os.sync

    def dcp_async(number: int) -> Callable[[], object]:
        future = async_save(state, checkpoint_id=str(folder / f"dcp-{number}"))
        return future.result  # type: ignore[union-attr]

    peers = {"ours": ours, "torch.save": torch_save, "dcp.async_save": dcp_async}
    found: dict[str, list[float]] = {name: [] for name in peers}
    for number in range(rounds + 1):
        for name, start in peers.items():
            before = time.perf_counter()
            finish = start(number)
            stalled = time.perf_counter() - before
            finish()
            if number:
                found[name].append(round(stalled, 5))
        shutil.rmtree(folder / f"dcp-{number}", ignore_errors=True)
    return found


def kills(folder: Path, count: int) -> dict[str, int]:
    """Processes killed while they save; the driver fails if a checkpoint cannot be read."""
    command = [sys.executable, "-c", DRIVER, str(folder), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    unreadable = done.returncode != 0 or "damaged" in done.stderr or "cannot be" in done.stderr
    published, left = map(int, done.stdout.split()) if done.stdout else (0, 0)
    return {"kills": count, "fell_into_saves": left, "saves": published, "unreadable": unreadable}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--kills", type=int, default=100)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found = begun()
    dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    found["stall_seconds"] = {}
    for megabytes, width in WIDTHS.items():
        with tempfile.TemporaryDirectory() as folder:
            raw = stalls(Path(folder), width, options.rounds)
        found["stall_seconds"][str(megabytes)] = raw
        middle = {name: f"{1000 * median(times):.0f} ms" for name, times in raw.items()}
        print(megabytes, "MB:", middle, flush=True)
    dist.destroy_process_group()
    with tempfile.TemporaryDirectory() as folder:
        found["kills"] = kills(Path(folder), options.kills)
    found["load_after"] = os.getloadavg()
    kept.keep("checkpoint", found)


if __name__ == "__main__":
    main()
