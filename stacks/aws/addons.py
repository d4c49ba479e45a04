"""Versions of managed add-ons: the reader of addons.yaml, and what a stack file changes in it."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, TypeAdapter

FILE = Path(__file__).parent / "addons.yaml"
EKS_CHOOSES = "default"
VERSION = rf"^({EKS_CHOOSES}|v\d+\.\d+\.\d+-eksbuild\.\d+)$"
Pins = dict[str, dict[str, Annotated[str, Field(pattern=VERSION)]]]
"""Kubernetes version -> add-on -> version."""


@cache
def addon_pins() -> Pins:
    """The checked-in table."""
    return TypeAdapter(Pins).validate_python(yaml.safe_load(FILE.read_text()))


def addon_versions(kubernetes: str, changed: Mapping[str, str]) -> dict[str, str]:
    """Add-on -> version for a Kubernetes version; those that EKS shall choose are left out."""
    wanted = {**addon_pins()[kubernetes], **changed}
    return {addon: version for addon, version in wanted.items() if version != EKS_CHOOSES}
