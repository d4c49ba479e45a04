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
GCP_QUARRY = "everything-on-gcp"
QUARRIES = {
    QUARRY.stem: QUARRY,
    GCP_QUARRY: ROOT / "stacks" / "gcp" / "everything.yaml",
}
"""Name -> file, of each cloud that has such a one."""


def config_of(stack: str) -> dict[str, Any]:
    """What stands in a stack file, or in the quarry."""
    if stack in QUARRIES:
        return {"settings": yaml.safe_load(QUARRIES[stack].read_text())}
    return read_config(stack)


@cache
def settings_of(stack: str) -> PlatformSettings:
    return parse(config_of(stack)["settings"], source=stack)


@cache
def recording_of(stack: str) -> Recording:
    """What the program registers for a stack."""
    return run_program(ROOT / "__main__.py", stack, config_of(stack))


def stacks_on(cloud: str) -> tuple[str, ...]:
    """Stack files of a cloud, its quarry last."""
    return tuple(n for n in (*stack_names(), *QUARRIES) if settings_of(n).cloud == cloud)


def aws_stacks() -> tuple[str, ...]:
    """Stack files of AWS, the quarry last."""
    return stacks_on("aws")
