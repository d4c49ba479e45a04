"""Rules about storage; pure, one rule a function."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stacks.problems import Problem, every

if TYPE_CHECKING:
    from stacks.aws.schema import AwsSettings

OTHERS_GIB = 40
"""Of a node's disk: an unpacked image, logs, and the tenth that the kubelet keeps free."""


def problems(settings: "AwsSettings") -> Iterator[Problem]:
    """Every broken rule of this file."""
    yield from every(RULES, settings)


def warnings(settings: "AwsSettings") -> Iterator[str]:
    """What is accepted and may be a surprise."""
    if settings.storage.backup and not settings.storage.retain:
        yield (
            "storage.backup: backups are deleted with the stack, like all data, as storage.retain "
            "is false."
        )


def mounters_are_named_once(settings: "AwsSettings") -> Iterator[Problem]:
    for field in ("mount_cidrs", "mount_security_groups"):
        named = getattr(settings.storage, field)
        for index, who in enumerate(named):
            if who in named[:index]:
                yield Problem(
                    path=f"storage.{field}[{index}]",
                    value=who,
                    rule="each once",
                    reason="it is a rule of the file system's security group, which has it once",
                    next_step="remove the repetition",
                )


def file_system_is_in_the_region(settings: "AwsSettings") -> Iterator[Problem]:
    arn = settings.storage.file_system
    if arn and arn.split(":")[3] != settings.region:
        yield Problem(
            path="storage.file_system",
            value=arn,
            rule=f"a file system of region {settings.region}",
            reason="nodes mount it inside their VPC, and a file system has no address elsewhere",
            next_step=f"change region to {arn.split(':')[3]}, or restore a copy of its backup here",
        )


def cache_leaves_room_on_the_disks(settings: "AwsSettings") -> Iterator[Problem]:
    storage = settings.storage
    own_disks = [p for p in settings.pools if storage.bucket and p.local_disks == "ignore"]
    smallest = min(own_disks, key=lambda pool: pool.disk_gib, default=None)
    if smallest and storage.bucket_cache_gib > smallest.disk_gib - OTHERS_GIB:
        yield Problem(
            path="storage.bucket_cache_gib",
            value=storage.bucket_cache_gib,
            rule=f"at most {smallest.disk_gib - OTHERS_GIB}: the disk_gib of pool "
            f"{smallest.name!r} less {OTHERS_GIB} for image and logs",
            reason="a node whose disk is full throws its pods out, the job's first",
            next_step="raise disk_gib of the pool, give it local_disks: raid0, or lower the cache",
        )


RULES = (
    mounters_are_named_once,
    file_system_is_in_the_region,
    cache_leaves_room_on_the_disks,
)
