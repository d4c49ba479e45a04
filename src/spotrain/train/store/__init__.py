"""Where checkpoints lie; see `store.store` for what every place has to promise."""

from pathlib import Path

from spotrain.train.store.directory import Directory
from spotrain.train.store.store import CHUNK, Sink, Store, read

__all__ = ["CHUNK", "Directory", "Sink", "Store", "open_store", "read"]


def open_store(place: str | Path) -> Store:
    """A folder's path, or s3://bucket/prefix."""
    return Directory(Path(place))
