"""Training that survives: exact data, committed checkpoints, worlds that re-form in place.

import spotrain.train as elastic

def train(run):                                    # called again, in this process, after a loss
    model, optimizer = build()
    model = run.wrap(model)
    loader = run.loader(train_set, batch_size=64, workers=4)
    run.track(model=model, optimizer=optimizer)    # restores the newest checkpoint
    for epoch in run.epochs(20):                   # goes on at the right epoch and sample
        for x, y in loader:
            loss = forward_backward_update(x, y)
            run.step(loss=loss)
        run.log(accuracy=validate(model))

elastic.run(train, output="/mnt/efs/output/run1")
"""

from spotrain.train.checkpoint import Catalogue, CheckpointError, CheckpointId, Manifest
from spotrain.train.distributed_sampler import ElasticDistributedSampler
from spotrain.train.launch import run
from spotrain.train.own_loop import load_checkpoint, save_checkpoint
from spotrain.train.sampler import ElasticBatchSampler
from spotrain.train.session import Run
from spotrain.train.usage import UsageError, WorldChanged, WorldEnded

__all__ = [
    "Catalogue",
    "CheckpointError",
    "CheckpointId",
    "ElasticBatchSampler",
    "ElasticDistributedSampler",
    "Manifest",
    "Run",
    "UsageError",
    "WorldChanged",
    "WorldEnded",
    "load_checkpoint",
    "run",
    "save_checkpoint",
]
