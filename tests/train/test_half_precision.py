"""Half precision with a scaler: overflows are skipped, and an interruption leaves no trace."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

import spotrain.train as elastic
from tests.train.alone import NOTICED, notice, train_alone

STEPS, SKIPPED_FROM = 20, 2.0**20


def can_autocast() -> bool:
    """Whether this torch trains in float16 on a CPU."""
    try:
        with torch.autocast("cpu", dtype=torch.float16):
            nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()
    except RuntimeError:
        return False
    return True


pytestmark = pytest.mark.skipif(not can_autocast(), reason="no float16 autocast on this CPU")


def train_half(output: Path, *, notice_at: int | None = None) -> tuple[int, list[float], Any]:
    """Exit code, the scale after each step, and what is trained in the end."""
    scales: list[float] = []
    state: dict[str, Any] = {}

    def train(run: elastic.Run) -> None:
        model = run.wrap(nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.1), nn.Linear(16, 1)))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        scaler = torch.amp.GradScaler("cpu", init_scale=SKIPPED_FROM, growth_interval=4)
        x = torch.randn(STEPS * 8, 8, generator=torch.Generator().manual_seed(1))
        data = TensorDataset(x, x.sum(1, keepdim=True))
        loader = run.loader(data, batch_size=4, accumulate=2)
        run.track(model=model, optimizer=optimizer, scaler=scaler)
        for _epoch in run.epochs(1):
            for features, target in loader:
                with torch.autocast("cpu", dtype=torch.float16):
                    loss = nn.functional.mse_loss(model(features), target)
                run.backward(scaler.scale(loss))
                if loader.ends_step:
                    scaler.unscale_(optimizer)
                    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                    scaler.step(optimizer)
                    scaler.update()
                    optimizer.zero_grad()
                    scales.append(scaler.get_scale())
                    if len(scales) == notice_at:
                        notice()
                    run.step()
        state.update(model=model.module.state_dict(), scaler=scaler.state_dict())
        state.update(optimizer=optimizer.state_dict()["state"])

    return train_alone(train, output), scales, state


@pytest.mark.parametrize("step", [2, 11])
def test_an_interruption_leaves_no_trace_in_scale_and_weights(tmp_path: Path, step: int) -> None:
    code, scales, undisturbed = train_half(tmp_path / "undisturbed")
    assert code == 0
    assert len(scales) == STEPS
    assert scales[0] < SKIPPED_FROM, "nothing has overflowed"
    assert any(after > before for before, after in pairwise(scales)), "it has never grown again"
    code, before, _ = train_half(tmp_path / "noticed", notice_at=step)
    assert (code, before) == (NOTICED, scales[:step])
    code, after, state = train_half(tmp_path / "noticed")
    assert (code, after) == (0, scales[step:])
    torch.testing.assert_close(state, undisturbed, rtol=0, atol=0)
