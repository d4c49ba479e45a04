"""Where checkpoints lie; see `store.store` for what every place has to promise."""

from pathlib import Path

from spotrain.checkpoints.store.directory import Directory
from spotrain.checkpoints.store.store import CHUNK, Sink, Store, read

__all__ = ["CHUNK", "Directory", "Sink", "Store", "open_store", "read"]


def open_store(place: str | Path) -> Store:
    """A folder's path, or s3://bucket/prefix.

    Raises:
        ValueError: it names neither.
        ImportError: it is a bucket, and the library to reach one is not installed.
    """
    if "://" not in str(place):
        return Directory(Path(place))
    if not str(place).startswith("s3://"):
        raise ValueError(
            f"{place}: checkpoints lie in a folder or in s3://<bucket>/<prefix>; mount other "
            "storage as a folder, and give its path"
        )
    try:
        from spotrain.checkpoints.store.s3 import (
            Bucket,  # boto3 is not for those who need no bucket
        )
    except ImportError as error:
        raise ImportError(
            f"{place} needs boto3, which is not installed: pip install 'spotrain[s3]'"
        ) from error
    return Bucket(str(place))
