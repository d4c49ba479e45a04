"""The clouds that a stack file may name, and what each must bring."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from components.cloud import Cloud
from spotrain.quotas.wanted import Needs
from stacks.bill import Bill
from stacks.platform_schema import PlatformSettings
from stacks.problems import Problem

Tags = Mapping[str, str]
MODULES: Mapping[str, str] = {
    "aws": "stacks.aws.support",
    "existing": "stacks.existing.support",
    "gcp": "stacks.gcp.support",
}
"""Cloud -> the module whose SUPPORT serves it. Only the one that a stack names is imported, so
that nobody needs the packages of a cloud that they do not use."""
SCHEMAS: Mapping[str, tuple[str, str]] = {
    "aws": ("stacks.aws.schema", "AwsSettings"),
    "existing": ("stacks.existing.schema", "ExistingSettings"),
    "gcp": ("stacks.gcp.schema", "GcpSettings"),
}
"""Cloud -> module and class of its settings, which need nobody's packages."""


@dataclass(frozen=True, kw_only=True)
class CloudSupport:
    """What a cloud brings. The functions get the settings of its own class."""

    settings: type[PlatformSettings]
    example: str
    """The file in which errors find what is missing in another."""
    problems: Callable[[Any], Iterator[Problem]]
    """What the parts of a stack file must be to each other."""
    warnings: Callable[[Any], list[str]]
    """What works but will disappoint."""
    build: Callable[[Any, Tags], Cloud]
    """Makes the cloud's resources."""
    place: Callable[[Any], str]
    """Where the stack is, in a few words: the headline of a preview."""
    reach: Callable[[Any, str], str]
    """The command after, or with, which kubectl talks to the cluster of a stack."""
    bill: Callable[[Any, Mapping[str, int]], Bill]
    """What the stack costs, from the number of resources of each type in it."""
    quotas: Callable[[Any], Needs]
    """What the account must be allowed before nodes come."""


def support(cloud: str) -> CloudSupport:
    """What a cloud brings; `cloud` is a key of MODULES."""
    found: CloudSupport = import_module(MODULES[cloud]).SUPPORT
    return found


def settings_class(cloud: str) -> type[PlatformSettings]:
    """What may be set on a cloud, for those who build nothing there."""
    module, name = SCHEMAS[cloud]
    found: type[PlatformSettings] = getattr(import_module(module), name)
    return found
