"""What a checkpoint holds of a Trainer, beside model, optimizer and schedule."""

import dataclasses
import json
from typing import Any

from torch.optim.lr_scheduler import LambdaLR, LRScheduler
from transformers import Trainer, TrainerState
from transformers.trainer_callback import ExportableState


class State:
    """What a Trainer keeps of its own: counters, logs, the state of callbacks that have one."""

    def __init__(self, trainer: Trainer, updates_per_epoch: int) -> None:
        self.updates_per_epoch = updates_per_epoch
        """Of the world that a checkpoint is from."""
        self._trainer = trainer
        self._updates_per_epoch = updates_per_epoch

    def state_dict(self) -> dict[str, Any]:
        callbacks = [callback.state()["attributes"] for callback in self._stateful()]
        state = dataclasses.asdict(self._trainer.state)
        return {
            "state": json.dumps(state),
            "callbacks": json.dumps(callbacks),
            "updates_per_epoch": self._updates_per_epoch,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._trainer.state = TrainerState(**json.loads(state["state"]))
        saved = json.loads(state["callbacks"])
        for callback, attributes in zip(self._stateful(), saved, strict=True):
            for name, value in attributes.items():
                setattr(callback, name, value)
        self.updates_per_epoch = state["updates_per_epoch"]

    def _stateful(self) -> list[Any]:
        callbacks = self._trainer.callback_handler.callbacks
        return [callback for callback in callbacks if isinstance(callback, ExportableState)]


def move_schedule(scheduler: LRScheduler, step: int) -> None:
    """Put a schedule that is a function of the step to another one."""
    if isinstance(scheduler, LambdaLR):
        rates = [
            float(base * factor(step))
            for base, factor in zip(scheduler.base_lrs, scheduler.lr_lambdas, strict=True)
        ]
        scheduler.last_epoch = step
        scheduler._last_lr = list(rates)
        for group, rate in zip(scheduler.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
