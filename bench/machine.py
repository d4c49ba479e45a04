"""What a benchmark ran on, stated beside every result; and what its processes have used of it."""

import os
import platform
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    cpu = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    return {
        "cpu": cpu.group(1) if cpu else platform.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "load_before": os.getloadavg(),
    }


def cpu_seconds(pid: int) -> float:
    """Processor time that the process has used, in user and in system mode."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def begun() -> dict[str, Any]:
    """What the raw data of a benchmark of training begins with: when, and on what."""
    import torch  # here: the controller's benchmark says what it ran on without it

    at = datetime.now(UTC).isoformat(timespec="seconds")
    return {"at": at, "machine": machine() | {"torch": torch.__version__}}
