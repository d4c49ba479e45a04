"""The work that all launchers run: the same model, data, optimizer and length of a step."""

import time

import torch
from torch import nn
from torch.utils.data import TensorDataset

FEATURES, CLASSES, SAMPLES, BATCH = 256, 10, 16_384, 32


def build() -> tuple[nn.Module, TensorDataset]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(FEATURES, 512), nn.ReLU(), nn.Linear(512, CLASSES))
    data = TensorDataset(torch.randn(SAMPLES, FEATURES), torch.randint(CLASSES, (SAMPLES,)))
    return model, data


class Pace:
    """Waits until a step has taken its time, so that a few cores can hold several ranks."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._began = time.monotonic()

    def end_step(self) -> None:
        time.sleep(max(0.0, self._began + self._seconds - time.monotonic()))
        self._began = time.monotonic()
