"""A script that keeps its own loop, data loader and checkpoints: `own_loop.py OUTPUT`.

Goes on until the file OUTPUT/enough is there; logs each sample that a committed state has used.
"""

import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import spotrain.train as elastic

SAMPLES, BATCH = 400, 4
output = Path(sys.argv[1])


def train(run: elastic.Run) -> None:
    torch.set_num_threads(1)
    model = nn.Linear(8, 1)
    saved = elastic.load_checkpoint(output) or {"step": 0, "epoch": 0, "samples": 0, "used": []}
    if "model" in saved:
        model.load_state_dict(saved["model"])
    step, start, used = saved["step"], saved["samples"], saved["used"]
    data = TensorDataset(torch.randn(SAMPLES, 8))
    sampler = elastic.ElasticDistributedSampler(data, start_index=start)
    for epoch in range(saved["epoch"], 100_000):
        sampler.set_epoch(epoch)
        order = list(sampler)
        for number, (x,) in enumerate(DataLoader(data, BATCH, sampler=sampler), start=1):
            model(x).sum().backward()
            step += 1
            mine = torch.zeros(SAMPLES)
            mine[order[(number - 1) * BATCH : number * BATCH]] = 1
            used = [*used, *torch.nonzero(run.sum(mine)).flatten().tolist()]
            samples = min(SAMPLES, sampler.start_index + number * BATCH * run.world_size)
            time.sleep(0.02)
            if run.should_stop(step=step):
                state = {"step": step, "epoch": epoch, "samples": samples, "used": used}
                elastic.save_checkpoint(
                    {**state, "model": model.state_dict()}, output, step=step, run=run
                )
                run.next_world()
        assert sorted(used) == list(range(SAMPLES)), "an epoch lost or repeated samples"
        used = []
        if run.sum(torch.tensor(int((output / "enough").exists()))):
            return


elastic.run(train, output=output)
