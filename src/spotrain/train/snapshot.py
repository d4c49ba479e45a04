"""A copy of the state in memory, so that training can change it while the copy is being written."""

import torch

from spotrain.train.parts import Part, with_copies


class Snapshots:
    """Takes copies into the same buffers again and again: one copy of the state stays allocated.

    Fresh memory for each copy would cost more than the copy itself, since every new page has to be
    cleared first. Whoever takes a snapshot must be done with the one before.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, torch.Tensor] = {}

    def take(self, part: Part) -> Part:
        """The part as it is now, on the CPU; returns when nothing is read from the original."""
        old, self._buffers = self._buffers, {}
        on_gpu = False

        def copy(name: str, tensor: torch.Tensor) -> torch.Tensor:
            nonlocal on_gpu
            is_here = tensor.device.type == "cuda"
            on_gpu |= is_here
            buffer = old.pop(name, None)
            if buffer is None or (buffer.shape, buffer.dtype) != (tensor.shape, tensor.dtype):
                buffer = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=is_here)
            self._buffers[name] = buffer.copy_(tensor, non_blocking=True)
            return buffer

        copied = with_copies(part, copy)
        if on_gpu:
            torch.cuda.synchronize()
        return copied
