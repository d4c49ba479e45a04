"""Every stack file, and one with every option switched on, as the program registers them."""

from functools import cache
from typing import Any

import yaml

from stacks.preview import ROOT, read_config, run_program, stack_names
from stacks.recorder import Recording

EVERYTHING = ROOT / "stacks" / "aws" / "everything.yaml"
CONFIGS: dict[str, dict[str, Any]] = {
    **{name: read_config(name) for name in stack_names()},
    EVERYTHING.stem: {"settings": yaml.safe_load(EVERYTHING.read_text())},
}
ON_AWS = [name for name, config in CONFIGS.items() if config["settings"]["cloud"] == "aws"]


@cache
def recorded(stack: str) -> Recording:
    """To be read only: all tests of a process share it."""
    return run_program(ROOT / "__main__.py", stack, CONFIGS[stack])
