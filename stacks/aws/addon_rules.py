"""Rules about add-on versions; pure, one rule a function."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stacks.aws.addons import EKS_CHOOSES, VERSION, addon_pins
from stacks.problems import Problem, suggestion

if TYPE_CHECKING:
    from stacks.aws.schema import AwsSettings


def problems(settings: "AwsSettings") -> Iterator[Problem]:
    """Every broken rule of this file."""
    pins = addon_pins()[settings.cluster.version]
    for addon, version in settings.cluster.addon_versions.items():
        path = f"cluster.addon_versions.{addon}"
        if addon not in pins:
            yield Problem(
                path=path,
                value=version,
                rule="an add-on of stacks/aws/addons.yaml",
                reason="no component installs another one, so its version would mean nothing",
                next_step=suggestion(addon, pins),
            )
        elif not re.match(VERSION, version):
            yield Problem(
                path=path,
                value=version,
                rule=f"{EKS_CHOOSES!r}, or a version like {pins[addon]}",
                reason="EKS knows no other form, and would refuse it only while installing",
                next_step="aws eks describe-addon-versions --addon-name "
                f"{addon} --kubernetes-version {settings.cluster.version} lists what exists",
            )
