"""What a checkpoint holds of a Lightning trainer: what Lightning's own would, and no more."""

from collections.abc import Mapping
from typing import Any, Final

from lightning.pytorch import LightningDataModule, LightningModule, Trainer

ARGUMENTS: Final = tuple(
    name
    for kind in (LightningModule, LightningDataModule)
    for name in (
        kind.CHECKPOINT_HYPER_PARAMS_KEY,
        kind.CHECKPOINT_HYPER_PARAMS_NAME,
        kind.CHECKPOINT_HYPER_PARAMS_TYPE,
    )
)
"""The arguments that module and data module were made with. The script makes them again, and they
may be objects of any kind, which a checkpoint does not hold."""


class TrainerState:
    """Model, optimizers, schedulers, precision, loops, callbacks and data module of one trainer.

    Lightning's connector does both ways; it has had these methods since version 2.0. Restoring ends
    where Lightning ends it: after `on_fit_start`, which may change the optimizers' groups.
    """

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
        self._connector = trainer._checkpoint_connector

    def state_dict(self) -> dict[str, Any]:
        state: dict[str, Any] = self._connector.dump_checkpoint(weights_only=False)
        loops = at_rest(state["loops"]["fit_loop"])
        kept = {name: value for name, value in state.items() if name not in ARGUMENTS}
        return {**kept, "loops": {**state["loops"], "fit_loop": loops}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._connector._loaded_checkpoint = state
        self._connector.restore_datamodule()
        self._connector.restore_model()
        self._connector.restore_callbacks()


def at_rest(loop: Mapping[str, Any]) -> dict[str, Any]:
    """The fit loop's progress, ready to go on from.

    Between two epochs Lightning still counts the batches of the last one, and takes them for those
    of the next if training is limited by `max_steps`.
    """
    epochs = loop["epoch_progress"]["current"]
    if epochs["ready"] > epochs["completed"]:
        return dict(loop)
    batches = loop["epoch_loop.batch_progress"]
    none = dict.fromkeys(batches["current"], 0)
    fresh = {**batches, "current": none, "is_last_batch": False}
    return {**loop, "epoch_loop.batch_progress": fresh}
