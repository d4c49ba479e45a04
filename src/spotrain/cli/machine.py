"""Facts of this machine, for `spotrain doctor --local`."""

import os
import shutil
import socket
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from spotrain.doctor.laptop import Laptop


def look_at_machine(folder: Path | None = None) -> Laptop:
    """folder: where jobs would be kept; the present one."""
    place = folder or Path.cwd()
    return Laptop(
        python=sys.version_info[:2],
        torch=_torch(),
        free_disk_bytes=shutil.disk_usage(place).free,
        folder=str(place),
        is_writable=os.access(place, os.W_OK),
        memory_bytes=_free_memory(),
        binds_loopback=_binds_loopback(),
        cores=os.cpu_count() or 1,
    )


def _torch() -> str:
    """Its version without importing it, which takes seconds."""
    try:
        return version("torch")
    except PackageNotFoundError:
        return ""


def _free_memory() -> int:
    """Linux tells what programs can have; elsewhere the whole counts; 0: nobody says."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 0


def _binds_loopback() -> bool:
    try:
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen()
    except OSError:
        return False
    return True
