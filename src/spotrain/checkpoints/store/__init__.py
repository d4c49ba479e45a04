"""Where checkpoints lie; see `store.store` for what every place has to promise."""

from pathlib import Path
from typing import Final

from spotrain.checkpoints.store.bucket import Address, Bucket
from spotrain.checkpoints.store.directory import Directory
from spotrain.checkpoints.store.objects import Objects
from spotrain.checkpoints.store.store import CHUNK, Sink, Store, read

__all__ = ["CHUNK", "Directory", "Sink", "Store", "is_in_bucket", "open_store", "read"]

LIBRARIES: Final = {"s3": "boto3", "gs": "google-cloud-storage"}
"""Scheme -> what reaches such a bucket; each is an extra of this package, by the scheme's name."""


def is_in_bucket(place: str) -> bool:
    """Whether it is an address, and no folder's path."""
    return "://" in place


def open_store(place: str | Path) -> Store:
    """A folder's path, s3://bucket/prefix or gs://bucket/prefix.

    Raises:
        ValueError: it names none of them.
        ImportError: it is a bucket, and the library to reach one is not installed.
        OSError: it is a bucket, and this machine has no identity to reach it with.
    """
    scheme, is_address, _ = str(place).partition("://")
    if not is_address:
        return Directory(_folder(Path(place)))
    if scheme not in LIBRARIES:
        raise ValueError(
            f"{place}: checkpoints lie in a folder, in s3://<bucket>/<prefix> or in "
            "gs://<bucket>/<prefix>; mount other storage as a folder, and give its path"
        )
    address = Address.parse(str(place))
    return Bucket(address, _objects(address))


def _folder(place: Path) -> Path:
    """Raises ValueError where it was an address: a Path keeps one slash of two, and what is saved
    in a folder of that name goes with the machine."""
    scheme = place.parts[0].removesuffix(":") if place.parts else ""
    if scheme in LIBRARIES and place.parts[0] != scheme:
        raise ValueError(
            f"{place} is a Path, which cannot hold an address: give "
            f"'{scheme}://{'/'.join(place.parts[1:])}' as text"
        )
    return place


def _objects(address: Address) -> Objects:
    """By the library of its cloud, which is not for those who need no bucket there."""
    try:
        if address.scheme == "s3":
            from spotrain.checkpoints.store.s3 import S3Objects

            return S3Objects(address.bucket)
        from spotrain.checkpoints.store.gs import GsObjects

        return GsObjects(address.bucket)
    except ImportError as error:
        library, missing = LIBRARIES[address.scheme], isinstance(error, ModuleNotFoundError)
        raise ImportError(
            f"{address} needs {library}, "
            f"{'which is not installed' if missing else 'and not the one that is installed'}: "
            f"pip install {'' if missing else '--upgrade '}'spotrain[{address.scheme}]' ({error})"
        ) from error
