"""A learning rate that follows the world: the optimizer uses it, nobody else sees it."""

import math

import pytest
import torch
from torch.optim.lr_scheduler import StepLR

from spotrain.train.learning_rate import find_rule, scale_each_step
from spotrain.train.usage import UsageError


@pytest.mark.parametrize(
    ("rule", "factor"),
    [
        pytest.param("linear", 4.0, id="linear"),
        pytest.param("sqrt", 2.0, id="sqrt"),
        pytest.param(lambda ratio: 1 + math.log2(ratio), 3.0, id="own"),
    ],
)
def test_a_rule_turns_four_times_the_samples_into_a_factor(rule: str, factor: float) -> None:
    assert find_rule(rule)(4.0) == factor


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(UsageError, match="rule='cubic' is unknown: give one of 'linear', 'sqrt'"):
        find_rule("cubic")


def test_an_update_uses_the_scaled_rate_and_schedulers_and_checkpoints_see_their_own() -> None:
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=0.5)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.5)  # builds on the last value
    factors = iter([1.0, 4.0, 2.0])
    scale_each_step(optimizer, lambda: next(factors))
    moved = []
    for _ in range(3):
        before = float(weight.detach())
        weight.grad = torch.ones(1)
        optimizer.step()
        moved.append(before - float(weight.detach()))
        scheduler.step()
    assert moved == [0.5, 1.0, 0.25]
    assert optimizer.state_dict()["param_groups"][0]["lr"] == scheduler.get_last_lr()[0] == 0.0625


def test_a_gradient_scaler_applies_it_too() -> None:
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=0.5)
    scale_each_step(optimizer, lambda: 3.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    torch.autograd.backward(scaler.scale(weight.sum()))
    scaler.step(optimizer)
    scaler.update()
    assert float(weight.detach()) == -1.5
    assert optimizer.param_groups[0]["lr"] == 0.5
