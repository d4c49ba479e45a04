"""Models whose parameters are spread over the ranks (FSDP2, DTensor): all ranks save and restore.

Such a model belongs to the process group that it was sharded over. So at a planned change all ranks
save, and the training function is called again, shards anew and loads what it needs.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import torch
from torch import nn
from torch.distributed.checkpoint.planner import SavePlan
from torch.distributed.checkpoint.state_dict import (
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)

from spotrain.checkpoints.manifest import DataFile
from spotrain.train.checkpoint import CheckpointError
from spotrain.train.group import Group
from spotrain.train.index import Index
from spotrain.train.parts import Written, is_sharded

STORE_TIMEOUT: Final = timedelta(seconds=60)
LOOK_SECONDS: Final = 0.1
"""Between two looks for the parts of other ranks."""


def has_shards(object: Any) -> bool:
    return isinstance(object, nn.Module) and any(is_sharded(p) for p in object.parameters())


class ShardedOptimizer:
    """An optimizer's state by the names of its model's parameters, as sharded as they are."""

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self._model = model
        self._optimizer = optimizer

    def state_dict(self) -> dict[str, Any]:
        return dict(get_optimizer_state_dict(self._model, self._optimizer))

    def load_state_dict(self, state: dict[str, Any]) -> None:
        set_optimizer_state_dict(self._model, self._optimizer, state)


def with_shards(tracked: Mapping[str, Any]) -> dict[str, Any]:
    """The tracked objects, with the optimizers of sharded models seen through them."""
    owners = [object for object in tracked.values() if has_shards(object)]

    def seen(object: Any) -> Any:
        if isinstance(object, torch.optim.Optimizer):
            own = {id(p) for group in object.param_groups for p in group["params"]}
            for model in owners:
                if own <= {id(parameter) for parameter in model.parameters()}:
                    return ShardedOptimizer(model, object)
        return object

    return {name: seen(object) for name, object in tracked.items()}


def forget_meshes() -> None:
    """After a world: drop what torch remembers of its mesh.

    A mesh of the next world counts as equal if its size is, and torch would go on with the cached
    one, in which this process may have had another rank: blocks would land in the wrong place.
    """
    # Its module imports torch's compiler, 1 s, which not every importer of this one needs.
    from torch.distributed.tensor.debug import _clear_sharding_prop_cache

    _clear_sharding_prop_cache()  # type: ignore[no-untyped-call]


def exchange(
    group: Group, own: SavePlan, deal_out: Callable[[Sequence[SavePlan]], Sequence[SavePlan]]
) -> SavePlan:
    """Every rank's plan to rank 0, and each one's share back."""
    plans = group.gather(own)
    share: SavePlan = group.scatter(deal_out(plans) if plans is not None else None)
    return share


@dataclass(frozen=True)
class Gathering:
    """What the ranks have written, brought to rank 0 from their threads by the world's store.

    No collective: those of a thread would hang, or tear down the others', when the world ends.
    """

    group: Group
    folder: str
    is_over: Callable[[], bool]

    def __call__(self, written: Written | None) -> list[Written] | None:
        """All parts at rank 0, None elsewhere. `written`: None if this rank could not write.

        Raises:
            CheckpointError: not all parts are there, or the world is over.
        """
        if self.group.place.world_size == 1:
            return [written] if written else None
        try:
            return self._gather(written)
        except torch.distributed.DistError as error:
            raise CheckpointError(f"{self.folder}: the world's store is gone: {error}") from error

    def _gather(self, written: Written | None) -> list[Written] | None:
        place, store = self.group.place, self.group.open_store(STORE_TIMEOUT)
        if place.rank > 0:
            store.set(self._key(place.rank), to_json(written) if written else "")
            return None
        parts = [written]
        for rank in range(1, place.world_size):
            while not store.check([self._key(rank)]):
                if self.is_over():
                    raise CheckpointError(f"{self.folder}: its world is over")
                time.sleep(LOOK_SECONDS)
            text = store.get(self._key(rank)).decode()
            parts.append(from_json(text) if text else None)
        whole = [part for part in parts if part is not None]
        if len(whole) < len(parts):
            raise CheckpointError(f"{self.folder}: another rank could not write its part")
        return whole

    def _key(self, rank: int) -> str:
        return f"saves/{self.folder}/{rank}"


def to_json(written: Written) -> str:
    file = {"size": written.file.size, "sha256": written.file.sha256}
    return json.dumps({"name": written.name, "file": file, "index": written.index.to_json()})


def from_json(text: str) -> Written:
    document = json.loads(text)
    index = Index.from_json(document["index"])
    return Written(document["name"], DataFile(**document["file"]), index)
