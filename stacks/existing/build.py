"""From the settings of a cluster that exists to the arguments of its component."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from components.cloud import (
    ClassVolume,
    Cloud,
    HostPathVolume,
    ImageReferences,
    NfsVolume,
    Pool,
    VolumeSource,
)
from components.existing.cloud import ExistingCloud, ExistingCloudArgs
from spotrain import contract

if TYPE_CHECKING:
    from stacks.existing.schema import ExistingPool, ExistingSettings, Volume

BESIDE = "-archive"
"""After the path of the shared volume: where ledger and logs are kept, unless a stack file says."""
ARCHIVE_GIB = 20
"""Of a volume that a class makes: logs of forty jobs that fill theirs, and many ledgers."""


def build(settings: "ExistingSettings", tags: Mapping[str, str]) -> Cloud:
    """The way to the cluster. Nothing of it can be tagged."""
    return ExistingCloud("existing", existing_args(settings)).cloud


def existing_args(settings: "ExistingSettings") -> ExistingCloudArgs:
    """A stack file as the component's arguments."""
    return ExistingCloudArgs(
        kubeconfig=settings.kubeconfig.path,
        context=settings.kubeconfig.context,
        pools=tuple(built_pool(pool) for pool in settings.pools),
        volume=_source(settings.volume),
        archive=_archive(settings.volume),
        images=ImageReferences(
            training=settings.images.training, controller=settings.images.controller
        ),
    )


def built_pool(pool: "ExistingPool") -> Pool:
    """The pool as jobs see it."""
    spot = pool.capacity == contract.CAPACITY_SPOT
    return Pool(
        name=pool.name,
        gpu=pool.gpu,
        gpus_per_node=pool.gpus_per_node,
        capacity=pool.capacity,
        zones=tuple(sorted(pool.zones)),
        instance_types=(),
        max_nodes=pool.max_nodes,
        notice_seconds=pool.notice_seconds,
        spot_usd_per_hour=pool.usd_per_hour if spot else 0.0,
        on_demand_usd_per_hour=pool.on_demand_usd_per_hour if spot else pool.usd_per_hour,
    )


def _archive(volume: "Volume") -> VolumeSource:
    """Beside the shared volume, never in it."""
    if volume.nfs:
        path = volume.archive or f"{volume.nfs.path.rstrip('/')}{BESIDE}"
        return NfsVolume(server=volume.nfs.server, path=path)
    if volume.storage_class:
        return ClassVolume(storage_class=volume.storage_class.name, size_gib=ARCHIVE_GIB)
    assert volume.host_path, "rules.py lets no other volume through"
    return HostPathVolume(path=volume.archive or f"{volume.host_path.rstrip('/')}{BESIDE}")


def _source(volume: "Volume") -> VolumeSource:
    if volume.nfs:
        return NfsVolume(server=volume.nfs.server, path=volume.nfs.path)
    if volume.storage_class:
        wanted = volume.storage_class
        return ClassVolume(storage_class=wanted.name, size_gib=wanted.size_gib)
    assert volume.host_path, "rules.py lets no other volume through"
    return HostPathVolume(path=volume.host_path)
