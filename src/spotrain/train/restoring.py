"""Whether a checkpoint fits a script, in words that say what to do where it does not."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from spotrain.checkpoints.manifest import UNREADABLE, CheckpointId, Manifest, read_manifest
from spotrain.checkpoints.store import Store
from spotrain.train.usage import UsageError, WorldEnded


class Tracked(Protocol):
    def state_dict(self) -> Any: ...
    def load_state_dict(self, state: Any, /) -> Any: ...


def find(store: Store, id: CheckpointId) -> Manifest:
    try:
        return read_manifest(store, id)
    except UNREADABLE as error:
        raise WorldEnded(f"checkpoint {id} cannot be read from {store}: {error}") from error


def load_into(object: Tracked, state: Any, *, id: CheckpointId, name: str) -> None:
    try:
        object.load_state_dict(state)
    except (RuntimeError, ValueError, KeyError) as error:
        first = " ".join(str(error).split())[:200]
        raise UsageError(
            f"checkpoint {id} does not fit {name}: {first} ... It was written by another "
            "version of the script: train into another output."
        ) from error


def require_same_data(manifest: Manifest, size: int | None) -> None:
    found = manifest.extra.get("size")
    if found != size:
        raise UsageError(
            f"checkpoint {manifest.id} belongs to a data set of {found} samples, this one has "
            f"{size}: its position means nothing here. Use another output."
        )


def require_same_names(
    id: CheckpointId, *, tracked: Iterable[str], found: Mapping[str, Any]
) -> None:
    odd = sorted(set(tracked) ^ set(found))
    if odd:
        raise UsageError(
            f"checkpoint {id} and run.track differ in {', '.join(odd)}: it was written by "
            "another version of the script. Track the same names, or use another output."
        )
