"""What the parts of a stack file must be to each other; pure, one rule a function."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from spotrain import contract
from stacks.problems import UNSET, NotKnown, Problem, every

if TYPE_CHECKING:
    from stacks.existing.schema import ExistingPool, ExistingSettings

LONGEST_NOTICE_SECONDS = 120
"""No cloud gives a spot node longer: AWS two minutes, Google and Azure half a minute."""


def problems(settings: "ExistingSettings") -> Iterator[Problem]:
    """Everything wrong between the fields; what is wrong with one by itself is told already."""
    for index, pool in enumerate(settings.pools):
        path = f"pools[{index}]"
        yield from every([_name_is_free], path, pool, settings.pools[:index])
        yield from every(POOL_RULES, path, pool)
    yield from every([_volume_is_one, _archive_is_apart, _images_are_of_one_version], settings)


def warnings(settings: "ExistingSettings") -> list[str]:
    """What works but will disappoint."""
    return [*_folder_of_many_nodes(settings), *_notice_that_no_cloud_gives(settings)]


def _name_is_free(
    path: str, pool: "ExistingPool", earlier: "tuple[ExistingPool, ...]"
) -> Iterator[Problem]:
    if any(pool.name == other.name for other in earlier):
        yield Problem(
            path=f"{path}.name",
            value=pool.name,
            rule="a name of its own",
            reason="labels and prices are found by the pool's name",
            next_step="rename one of the two pools, and label its nodes with the new name",
        )


def _zones_are_named_once(path: str, pool: "ExistingPool") -> Iterator[Problem]:
    for index, zone in enumerate(pool.zones):
        if zone in pool.zones[:index]:
            yield Problem(
                path=f"{path}.zones[{index}]",
                value=zone,
                rule="each zone once",
                reason="max_nodes counts for each zone, so its nodes would be counted twice",
                next_step="remove one of the two",
            )


def _gpu_and_number_agree(path: str, pool: "ExistingPool") -> Iterator[Problem]:
    none = contract.NO_GPU
    if pool.gpu == none and pool.gpus_per_node:
        yield Problem(
            path=f"{path}.gpus_per_node",
            value=pool.gpus_per_node,
            rule=f"0 where gpu is {none}",
            reason="nodes without a GPU model have no GPUs to ask for",
            next_step=f"set it to 0, or set {path}.gpu to the model, like t4",
        )
    if pool.gpu != none and not pool.gpus_per_node:
        yield Problem(
            path=f"{path}.gpus_per_node",
            value=pool.gpus_per_node,
            rule=f"at least 1 where gpu is {pool.gpu}",
            reason="jobs that ask for this model ask for its GPUs too, and would find no room",
            next_step=f"set it to the GPUs of one node, or set {path}.gpu to {none}",
        )


def _prices_are_those_of_the_capacity(path: str, pool: "ExistingPool") -> Iterator[Problem]:
    spot = pool.capacity == contract.CAPACITY_SPOT
    place, price = f"{path}.on_demand_usd_per_hour", pool.on_demand_usd_per_hour
    if spot and price < pool.usd_per_hour:
        yield Problem(
            path=place,
            value=price or UNSET,
            rule=f"at least usd_per_hour, {pool.usd_per_hour}",
            reason="what spot saves is told as a share of it",
            next_step="set it to what the same node costs on demand, or remove both prices",
        )
    if not spot and price:
        yield Problem(
            path=place,
            value=price,
            rule="only with capacity: spot",
            reason="usd_per_hour is the on-demand price of this pool already",
            next_step="remove it, or set capacity to spot",
        )


def _volume_is_one(settings: "ExistingSettings") -> Iterator[Problem]:
    ways = {way: getattr(settings.volume, way) for way in ("nfs", "storage_class", "host_path")}
    given = [way for way, value in ways.items() if value is not None]
    if len(given) != 1:
        yield Problem(
            path="volume",
            value=" and ".join(given) or UNSET,
            rule=f"exactly one of: {', '.join(ways)}",
            reason="all workers of a job read and write the same data/ and output/",
            next_step="keep the one that every node of the pools can mount"
            if given
            else "on a cluster of one node, set volume.host_path; else nfs or storage_class",
        )


def _archive_is_apart(settings: "ExistingSettings") -> Iterator[Problem]:
    archive, shared = settings.volume.archive, settings.volume.host_path
    if settings.volume.nfs:
        shared = settings.volume.nfs.path
    if archive is None:
        return
    if shared is None:
        yield Problem(
            path="volume.archive",
            value=archive,
            rule="only with nfs or host_path",
            reason="a storage class makes a second volume, and names its folder itself",
            next_step="remove it",
        )
    elif PurePosixPath(archive).is_relative_to(shared):
        yield Problem(
            path="volume.archive",
            value=archive,
            rule=f"a folder that is not in {shared}",
            reason="jobs mount that one, and could rewrite what was written down of them",
            next_step=f"name one beside it, like {shared.rstrip('/')}-archive, or remove it",
        )


def _images_are_of_one_version(settings: "ExistingSettings") -> Iterator[Problem]:
    for field in ("training", "controller"):
        with suppress(NotKnown):
            yield from _image_is_one_version(f"images.{field}", getattr(settings.images, field))


def _image_is_one_version(path: str, reference: str) -> Iterator[Problem]:
    name = reference.rsplit("/", 1)[-1]
    if "@" not in name and name.partition(":")[2] in ("", "latest"):
        yield Problem(
            path=path,
            value=reference,
            rule="a tag other than latest, or a digest",
            reason="Kubernetes looks for latest in a registry each time, so an image that was "
            "loaded into the nodes is not found, and one that was pushed changes unnoticed",
            next_step=f"tag the image, like {name.partition(':')[0]}:dev",
        )


def _folder_of_many_nodes(settings: "ExistingSettings") -> Iterator[str]:
    nodes = sum(pool.max_nodes * len(pool.zones) for pool in settings.pools)
    if settings.volume.host_path and nodes > 1:
        yield (
            f"volume.host_path: {nodes} nodes see {settings.volume.host_path} each on their own "
            "disk, unless the same folder is mounted there on all of them."
        )


def _notice_that_no_cloud_gives(settings: "ExistingSettings") -> Iterator[str]:
    for index, pool in enumerate(settings.pools):
        spot = pool.capacity == contract.CAPACITY_SPOT
        if spot and pool.notice_seconds > LONGEST_NOTICE_SECONDS:
            yield (
                f"pools[{index}].notice_seconds: no cloud gives a spot node {pool.notice_seconds} "
                f"seconds of notice; workers of {pool.name!r} may be killed while they save."
            )


POOL_RULES = (_zones_are_named_once, _gpu_and_number_agree, _prices_are_those_of_the_capacity)
