"""What a benchmark ran on: stated beside every result."""

import os
import platform
import re
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
