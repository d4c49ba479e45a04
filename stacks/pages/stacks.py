"""The stacks that pages are written from, as built."""

from functools import cache
from typing import Any

import yaml

from stacks.platform_schema import PlatformSettings
from stacks.preview import ROOT, run_program
from stacks.recorder import Recording
from stacks.schema import parse
from stacks.stack_file import read_config, stack_names

QUARRY = ROOT / "stacks" / "aws" / "everything.yaml"
"""Every option of AWS switched on; no stack of its own."""


def config_of(stack: str) -> dict[str, Any]:
    """What stands in a stack file, or in the quarry."""
    if stack == QUARRY.stem:
        return {"settings": yaml.safe_load(QUARRY.read_text())}
    return read_config(stack)


@cache
def settings_of(stack: str) -> PlatformSettings:
    return parse(config_of(stack)["settings"], source=stack)


@cache
def recording_of(stack: str) -> Recording:
    """What the program registers for a stack."""
    return run_program(ROOT / "__main__.py", stack, config_of(stack))


def aws_stacks() -> tuple[str, ...]:
    """Stack files of AWS, the quarry last."""
    named = [name for name in stack_names() if settings_of(name).cloud == "aws"]
    return (*named, QUARRY.stem)
