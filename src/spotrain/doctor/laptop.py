"""Checks of this machine, for jobs that train on it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from spotrain.doctor.finding import Finding, fail, passed, warn

OLDEST_PYTHON: Final = (3, 11)
OLDEST_TORCH: Final = (2, 13)
GIB: Final = 2**30
ROOMY_DISK: Final = 5 * GIB
LEAST_DISK: Final = GIB
LEAST_MEMORY: Final = 2 * GIB
"""Of one worker with PyTorch and a small model."""
INSTALL: Final = "pip install 'spotrain[cli,train]'"


@dataclass(frozen=True, kw_only=True)
class Laptop:
    """Facts of a machine."""

    python: tuple[int, int]
    torch: str
    """Version; empty: it is not installed."""
    free_disk_bytes: int
    folder: str
    """Where jobs are kept."""
    is_writable: bool
    memory_bytes: int
    """Free for programs; 0: nobody says."""
    binds_loopback: bool
    """Can a program listen on 127.0.0.1?"""
    cores: int


def check_laptop(laptop: Laptop) -> Iterator[Finding]:
    yield _python(laptop.python)
    yield _torch(laptop.torch)
    yield _disk(laptop)
    yield _memory(laptop)
    if laptop.binds_loopback:
        yield passed("ports", "programs can listen on 127.0.0.1.")
    else:
        said = "no program can listen on 127.0.0.1: workers cannot meet."
        yield fail("ports", said, "look for a firewall or a sandbox that forbids it")


def _python(version: tuple[int, int]) -> Finding:
    said = f"{version[0]}.{version[1]}."
    if version < OLDEST_PYTHON:
        return fail("python", f"{said} 3.11 is the oldest that serves.", "install Python 3.11")
    return passed("python", said)


def _torch(version: str) -> Finding:
    if not version:
        return fail("torch", "it is not installed here.", INSTALL)
    major, minor = (*version.split("."), "0")[:2]
    known = major.isdecimal() and minor.isdecimal()
    if known and (int(major), int(minor)) < OLDEST_TORCH:
        oldest = ".".join(map(str, OLDEST_TORCH))
        return fail("torch", f"{version}; {oldest} is the oldest that serves.", INSTALL)
    return passed("torch", f"{version}.")


def _disk(laptop: Laptop) -> Finding:
    if not laptop.is_writable:
        said = f"{laptop.folder} cannot be written to."
        return fail("disk", said, "run it in a folder of your own")
    said = f"{laptop.free_disk_bytes / GIB:.1f} GiB are free at {laptop.folder}."
    if laptop.free_disk_bytes < LEAST_DISK:
        return fail("disk", f"{said} Checkpoints will not fit.", "make room, or use another folder")
    if laptop.free_disk_bytes < ROOMY_DISK:
        return warn("disk", said, "checkpoints and data sets need more before long")
    return passed("disk", said)


def _memory(laptop: Laptop) -> Finding:
    if not laptop.memory_bytes:
        return passed("memory", f"not told; {laptop.cores} processors.")
    workers = laptop.memory_bytes // LEAST_MEMORY
    said = f"{laptop.memory_bytes / GIB:.1f} GiB and {laptop.cores} processors."
    if not workers:
        return warn("memory", f"{said} One worker needs about 2 GiB.", "close other programs")
    return passed("memory", f"{said} Room for about {workers} small workers.")
