"""A model that outlives its worlds: the module stays, its replica is built anew in each one."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FSDPModule
from torch.nn.parallel import DistributedDataParallel

BuildReplica = Callable[[nn.Module], nn.Module]
Shard = Callable[[nn.Module], Any]


class Elastic(nn.Module):
    """What `run.wrap` returns. Use it like the model; `.module` is the model itself.

    Gradients go over the network with the last batch of each step only. In evaluation mode the
    plain module is called: DistributedDataParallel would broadcast buffers at every forward, which
    hangs as soon as ranks evaluate different numbers of batches.
    """

    def __init__(
        self,
        module: nn.Module,
        build_replica: BuildReplica | None,
        ends_step: Callable[[], bool] = lambda: True,
    ) -> None:
        """`build_replica`: None for a module that is parallel by itself, as a sharded one is.
        `ends_step`: whether the batch at hand is the last one before the model is updated."""
        super().__init__()
        self.module = module
        self._build_replica = build_replica
        self._ends_step = ends_step
        self._replica: list[nn.Module] = []  # a list, so that it is no registered submodule

    def enter_world(self, world_size: int) -> None:
        """Build the replica for a world; a world of one rank needs none."""
        if self._build_replica and world_size > 1:
            self._replica = [self._build_replica(self.module)]

    def share_buffers(self) -> None:
        """Give every rank the buffers of rank 0, which its checkpoint holds.

        Ranks that see different data have different ones (the statistics of batch norm) until the
        next forward pass makes them equal. A planned change may come before it, and take rank 0.
        """
        if self._replica:
            for buffer in self.module.buffers():
                dist.broadcast(buffer, src=0)

    def leave_world(self) -> None:
        """Drop the replica before its process group; its gradient hooks go with it."""
        self._replica = []

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self.module, FSDPModule):
            self.module.set_requires_gradient_sync(self._ends_step())
        if not self.training or not self._replica:
            return self.module(*args, **kwargs)
        # What is decided here holds for the backward pass too.
        with nullcontext() if self._ends_step() else self.no_sync():
            return self._replica[0](*args, **kwargs)

    def no_sync(self) -> AbstractContextManager[None]:
        """For accumulation by hand: no all-reduce for the passes within."""
        replica = self._replica[0] if self._replica else None
        return replica.no_sync() if isinstance(replica, DistributedDataParallel) else nullcontext()


def data_parallel(device: torch.device) -> BuildReplica:
    """DistributedDataParallel for a model on `device`."""

    def build(module: nn.Module) -> nn.Module:
        ids = [device.index] if device.type == "cuda" else None
        return DistributedDataParallel(module, device_ids=ids)

    return build
