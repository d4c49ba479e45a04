"""Checkpoints for scripts that keep their own loop, under the names of TorchElastic's examples."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch
import torch.distributed as dist

from spotrain.checkpoints.retention import Retention
from spotrain.train import parts
from spotrain.train.checkpoint import Catalogue, CheckpointId
from spotrain.train.saver import Outcome, Save, Saver
from spotrain.train.solo import SoloChannel
from spotrain.train.usage import WorldEnded

if TYPE_CHECKING:
    from spotrain.train.session import Run

FOLDER: Final = "checkpoints"


def catalogue_of(output: str | Path) -> Catalogue:
    """Where a run's checkpoints lie below its output."""
    return Catalogue(f"{str(output).rstrip('/')}/{FOLDER}")


def save_checkpoint(
    state: Mapping[str, Any],
    output: str | Path,
    *,
    step: int,
    run: "Run | None" = None,
    keep: int = 3,
) -> bool:
    """Save a state of plain tensors, numbers and containers; whether it is a checkpoint now.

    Nobody ever sees half of one, and the newest `keep` stay. Every rank may call it, rank 0 writes;
    the others get False. With `run`, the save belongs to its world, and that of a world which is
    over cannot hide a newer one's. Without it nothing protects from a stale writer.

    Raises:
        WorldEnded: a newer world is on; do not catch it.
        TypeError: the state holds something that could not be loaded again.
    """
    if dist.is_initialized() and dist.get_rank() > 0:
        return False
    catalogue = catalogue_of(output)
    newest = catalogue.newest_published()
    saver = Saver(catalogue, run.channel if run else SoloChannel(), Retention(keep))
    last_world = newest.world if newest else 0
    save = Save(
        id=CheckpointId(run.world if run else last_world, step),
        part=parts.plan(state),
        epoch=0,
        cursor=0,
        parent=newest,
        extra={},
    )
    outcome = saver.save_now(save, patience_seconds=0).outcome
    if outcome is Outcome.REFUSED:
        raise WorldEnded(f"checkpoint {save.id} was refused: a newer world is on")
    return outcome is Outcome.PUBLISHED


def load_checkpoint(
    output: str | Path, *, map_location: str | torch.device = "cpu"
) -> dict[str, Any] | None:
    """The state of the newest intact checkpoint below an output; None where there is none.

    What `run.track` saved lies under `["tracked"][<name>]`, so this also takes a trained model out:
    `model.load_state_dict(load_checkpoint(output)["tracked"]["model"])`.
    """
    catalogue = catalogue_of(output)
    newest = catalogue.newest_intact()
    return catalogue.load(newest, map_location=map_location) if newest else None
