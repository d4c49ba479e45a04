"""What a benchmark ran on: stated beside every result."""

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


def begun() -> dict[str, Any]:
    """What the raw data of a benchmark of training begins with: when, and on what."""
    import torch  # here: the controller's benchmark says what it ran on without it

    at = datetime.now(UTC).isoformat(timespec="seconds")
    return {"at": at, "machine": machine() | {"torch": torch.__version__}}
