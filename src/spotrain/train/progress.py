"""Telling the agent how training goes: at most twice a second, at a world's first step, and at the
end of one that had none to do."""

import math
import time
from collections.abc import Mapping

import torch

from spotrain.agent.rank import Channel
from spotrain.train.position import Position
from spotrain.train.solo import SoloChannel

PROGRESS_SECONDS = 0.5

MAX_METRICS, MAX_NAME = 64, 64
"""A report is a message of 64 KiB at most; what does not fit in one belongs in a file."""

Metrics = Mapping[str, float | torch.Tensor]


class Progress:
    """Rank 0's reports. Metrics are read only when one is due: reading waits for the GPU."""

    def __init__(
        self, channel: Channel | SoloChannel, position: Position, previous_step: int | None
    ) -> None:
        self.previous_step = previous_step
        """Last step that this process did in the world before."""
        self._channel = channel
        self._position = position
        self._restored_step: int | None = None
        self._told_at = 0.0

    def enter_world(self, restored_step: int) -> None:
        self._restored_step = restored_step

    def tell_step(self, *, samples: int, metrics: Metrics) -> None:
        """`samples`: of this global step, over all ranks."""
        if self._is_first or time.monotonic() - self._told_at >= PROGRESS_SECONDS:
            self._send(samples, metrics, is_first=self._is_first)
            self._restored_step = None

    def tell(self, metrics: Metrics) -> None:
        self._send(0, metrics)

    def tell_end(self) -> None:
        """Of a world that had no step to do: nobody would know how far training is."""
        if self._is_first:
            self._send(0, {}, is_first=True)

    @property
    def _is_first(self) -> bool:
        return self._restored_step is not None

    def _send(self, samples: int, metrics: Metrics, *, is_first: bool = False) -> None:
        first = {"restored_step": self._restored_step, "previous_step": self.previous_step}
        self._told_at = time.monotonic()
        position, place = self._position, self._position.place
        assert place is not None
        few = list(metrics.items())[:MAX_METRICS]
        values = {name[:MAX_NAME]: _as_float(value) for name, value in few}
        self._channel.progress(
            place.number,
            step=position.step,
            epoch=position.epoch,
            samples=samples,
            steps_left=position.steps_left,
            metrics={name: value for name, value in values.items() if math.isfinite(value)},
            data_wait_seconds=round(position.waited.data_seconds, 3),
            save_stall_seconds=round(position.waited.save_seconds, 3),
            **(first if is_first else {}),
        )


def _as_float(value: float | torch.Tensor) -> float:
    return float(value.detach() if isinstance(value, torch.Tensor) else value)
