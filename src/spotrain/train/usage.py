"""How a training function's world may end, and what scripts may do wrong."""

from collections.abc import Mapping
from typing import Any

import torch
from torch.utils.data import Dataset

from spotrain.agent.lost_peer import is_lost_peer_text


class WorldEnded(BaseException):
    """The current world is over: `train` is called again in the next one.

    Not an `Exception`, as `asyncio.CancelledError`: scripts often continue after any `Exception`
    of a step, and would train on in a world that no longer exists.
    """


class PeerLost(WorldEnded):
    """A collective call of the library failed, as it does when a peer is gone."""


class WorldChanged(BaseException):
    """The world was left as planned, and all is saved: `train` is called again in the next one."""


def is_lost_peer(error: RuntimeError) -> bool:
    """Whether a collective failed, as it does when a peer is gone; other errors end the process.

    After an error on a GPU the process cannot be trusted, and is ended as well: the agent starts
    another one.
    """
    if torch.cuda.is_available():
        return False
    return isinstance(error, torch.distributed.DistError) or is_lost_peer_text(str(error))


class UsageError(RuntimeError):
    """The training function used the run in a way that would lose work."""


def require_restorable(objects: Mapping[str, Any]) -> None:
    if not objects:
        raise UsageError("run.track needs what to save: run.track(model=..., optimizer=...)")
    for name, object in objects.items():
        if not hasattr(object, "state_dict") or not hasattr(object, "load_state_dict"):
            raise UsageError(
                f"run.track({name}={object!r}): it has no state_dict and load_state_dict, so "
                "it could not be restored. Position and epoch are kept anyway."
            )


def size_of(dataset: Dataset[Any]) -> int:
    try:
        size = len(dataset)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(
            f"{type(dataset).__name__} has no length: exact positions need a data set of the map "
            "kind (__len__ and __getitem__), not an iterable one"
        ) from None
    if size == 0:
        raise UsageError("the data set is empty: there is nothing to train on. Check its path.")
    return size
