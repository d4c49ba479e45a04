"""A model that outlives its worlds: the module stays, its replica is built anew in each one."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

BuildReplica = Callable[[nn.Module], nn.Module]


class Elastic(nn.Module):
    """What `run.wrap` returns. Use it like the model; `.module` is the model itself.

    In evaluation mode the plain module is called: DistributedDataParallel would broadcast buffers
    at every forward, which hangs as soon as ranks evaluate different numbers of batches.
    """

    def __init__(self, module: nn.Module, build_replica: BuildReplica) -> None:
        super().__init__()
        self.module = module
        self._build_replica = build_replica
        self._replica: list[nn.Module] = []  # a list, so that it is no registered submodule

    def enter_world(self, world_size: int) -> None:
        """Build the replica for a world; a world of one rank needs none."""
        self._replica = [self._build_replica(self.module)] if world_size > 1 else []

    def leave_world(self) -> None:
        """Drop the replica before its process group; its gradient hooks go with it."""
        self._replica = []

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self.training and self._replica:
            return self._replica[0](*args, **kwargs)
        return self.module(*args, **kwargs)

    def no_sync(self) -> AbstractContextManager[None]:
        """Gradient accumulation: no all-reduce for the backward passes within."""
        replica = self._replica[0] if self._replica else None
        return replica.no_sync() if isinstance(replica, DistributedDataParallel) else nullcontext()


def data_parallel(device: torch.device) -> BuildReplica:
    """DistributedDataParallel for a model on `device`."""

    def build(module: nn.Module) -> nn.Module:
        ids = [device.index] if device.type == "cuda" else None
        return DistributedDataParallel(module, device_ids=ids)

    return build
