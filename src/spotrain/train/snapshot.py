"""A copy of the state in memory, so that training can change it while the copy is being written."""

from collections.abc import Mapping
from typing import Any

import torch

from spotrain.train.state import join, split


class Snapshots:
    """Takes copies into the same buffers again and again: one copy of the state stays allocated.

    Fresh memory for each copy would cost more than the copy itself, since every new page has to be
    cleared first. Whoever takes a snapshot must be done with the one before.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, torch.Tensor] = {}

    def take(self, state: Mapping[str, Any]) -> Any:
        """The state as it is now, on the CPU; returns when nothing is read from the original."""
        skeleton, tensors = split(state)
        old, self._buffers = self._buffers, {}
        for name, tensor in tensors.items():
            buffer = old.pop(name, None)
            if buffer is None or (buffer.shape, buffer.dtype) != (tensor.shape, tensor.dtype):
                on_gpu = tensor.device.type == "cuda"
                buffer = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=on_gpu)
            self._buffers[name] = buffer.copy_(tensor, non_blocking=True)
        if any(tensor.device.type == "cuda" for tensor in tensors.values()):
            torch.cuda.synchronize()
        return join(skeleton, lambda name, _: self._buffers[name])
