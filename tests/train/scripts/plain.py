"""A plain DistributedDataParallel script that knows nothing of us: `plain.py CHECKPOINT STEPS`."""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

path, steps = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(1)
dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Linear(8, 1))
step = torch.load(path)["step"] if os.path.exists(path) else 0
print(f"start at {step} of rank {dist.get_rank()} of {dist.get_world_size()}", flush=True)
while step < steps:
    model(torch.randn(4, 8)).sum().backward()
    step += 1
    time.sleep(0.02)
    if dist.get_rank() == 0 and step % 10 == 0:
        torch.save({"step": step}, path + ".partial")
        os.replace(path + ".partial", path)
        print(f"step {step} world {dist.get_world_size()}", flush=True)
dist.destroy_process_group()
