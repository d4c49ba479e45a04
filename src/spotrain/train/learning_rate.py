"""A learning rate that follows the size of a step, which grows with the world."""

import math
from collections.abc import Callable
from typing import Any, Final

from torch.optim import Optimizer

from spotrain.train.usage import UsageError

Rule = Callable[[float], float]
"""From how many times the reference a step's samples are, to the factor of the learning rate."""

RULES: Final[dict[str, Rule]] = {"linear": lambda ratio: ratio, "sqrt": math.sqrt}
"""Linear for SGD (Goyal et al., arXiv 1706.02677), square root for Adam and its like (Malladi et
al., arXiv 2205.10287)."""


def find_rule(rule: str | Rule) -> Rule:
    if callable(rule):
        return rule
    if rule not in RULES:
        raise UsageError(
            f"rule={rule!r} is unknown: give one of {', '.join(map(repr, RULES))}, or a function "
            "from step samples / reference_batch to the factor of the learning rate"
        )
    return RULES[rule]


def scale_each_step(optimizer: Optimizer, factor: Callable[[], float]) -> None:
    """Multiply the learning rates by a factor, for the time of each `optimizer.step` only.

    Outside of it everyone sees the rates without it: schedulers that build on the last value, and
    checkpoints, which may be restored in a world of another size.
    """
    own: list[Any] = []

    def scale(*_: Any) -> None:
        by = factor()
        own[:] = [group["lr"] for group in optimizer.param_groups]
        for group in optimizer.param_groups:
            group["lr"] = group["lr"] * by

    def restore(*_: Any) -> None:
        for group, lr in zip(optimizer.param_groups, own, strict=True):
            group["lr"] = lr

    optimizer.register_step_pre_hook(scale)
    optimizer.register_step_post_hook(restore)
