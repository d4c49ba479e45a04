"""How Lightning enters `fit`: in this process, and from the run's own checkpoint only."""

import inspect
from collections.abc import Callable
from typing import Any

from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import OnExceptionCheckpoint
from lightning.pytorch.strategies.launchers.launcher import _Launcher
from lightning.pytorch.trainer.states import TrainerFn

from spotrain.train.usage import UsageError


class InPlace(_Launcher):
    """Starts nothing, since the agent has started every process of the world.

    But it sees what a trainer was asked for before Lightning looks for files. `ckpt_path="last"`
    finds none in the first world, and would be refused in the second one only, hours later.
    """

    @property
    def is_interactive_compatible(self) -> bool:
        return True

    def launch(
        self, function: Callable[..., Any], *args: Any, trainer: Trainer, **others: Any
    ) -> Any:
        if trainer.state.fn is TrainerFn.FITTING:
            asked = inspect.signature(function).bind(*args, **others).arguments
            _require_own_checkpoint(asked.get("ckpt_path") or trainer.ckpt_path)
            _require_none_on_exception(trainer)
        return function(*args, **others)

    def kill(self, _: int) -> None:
        """There are no processes of its own."""


def _require_own_checkpoint(path: Any) -> None:
    if path:
        raise UsageError(
            f"trainer.fit(ckpt_path={path!r}): with ElasticStrategy training goes on from the "
            "newest checkpoint in the run's output. Leave ckpt_path out; to begin from other "
            "weights, load them in the module's configure_model"
        )


def _require_none_on_exception(trainer: Trainer) -> None:
    if any(isinstance(callback, OnExceptionCheckpoint) for callback in trainer.callbacks):
        raise UsageError(
            "OnExceptionCheckpoint saves where a world ends, by collectives that lost ranks do not "
            "answer, and the next fit would go on from that file. Leave it out: the run saves"
        )
