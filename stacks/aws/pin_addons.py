"""Pins the add-on versions that AWS recommends today.

    .venv/bin/python -m stacks.aws.pin_addons --help

Needs eks:DescribeAddonVersions, and nothing else of an account.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import boto3  # type: ignore[import-untyped]
from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

from stacks.aws.addons import FILE, addon_pins

Versions = Mapping[str, str]
PIN = re.compile(r"^  (?P<addon>[a-z0-9-]+): (?P<version>\S+)(?P<comment>.*)$")


def main(argv: Sequence[str] | None = None, *, client: Any = None) -> int:
    """0: done. 1: AWS did not answer."""
    args = _parser().parse_args(argv)
    eks = client or boto3.client("eks", region_name=args.region)
    source = f"AWS's default in {args.region}, {datetime.now(UTC):%Y-%m-%d}"
    text = FILE.read_text()
    try:
        for kubernetes in args.kubernetes or sorted(addon_pins()):
            pinned = addon_pins()[kubernetes]
            found = recommended_versions(eks, kubernetes, pinned)
            text = repinned(text, kubernetes, found, source=source)
            print("\n".join(changes(kubernetes, pinned, found)))
    except (BotoCoreError, ClientError) as error:
        print(
            f"EKS told no add-on versions: {error}\n"
            "next: log in to an account that may eks:DescribeAddonVersions, and try again",
            file=sys.stderr,
        )
        return 1
    if not args.dry_run:
        FILE.write_text(text)
        print(f"written to {FILE.name}; next: git diff, make test, pulumi preview")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=".venv/bin/python -m stacks.aws.pin_addons",
        description="Write the versions that AWS recommends today into stacks/aws/addons.yaml.",
    )
    parser.add_argument("--region", required=True, help="a region; all offer much the same")
    parser.add_argument(
        "--kubernetes",
        action="append",
        choices=sorted(addon_pins()),
        help="only this Kubernetes version (may be repeated)",
    )
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")
    return parser


def recommended_versions(eks: Any, kubernetes: str, addons: Iterable[str]) -> dict[str, str]:
    """Add-on -> version, of those add-ons that AWS offers for a Kubernetes version."""
    pages = eks.get_paginator("describe_addon_versions")
    found = {}
    for addon in addons:
        answers = pages.paginate(addonName=addon, kubernetesVersion=kubernetes)
        offers = [
            offer
            for answer in answers
            for described in answer["addons"]
            for offer in described["addonVersions"]
        ]
        if version := recommended(offers, kubernetes):
            found[addon] = version
    return found


def recommended(offers: Iterable[Mapping[str, Any]], kubernetes: str) -> str | None:
    """AWS's default for a Kubernetes version; the newest that fits, where it names none."""
    fitting = {
        offer["addonVersion"]: any(c.get("defaultVersion", False) for c in compatible)
        for offer in offers
        if (compatible := [c for c in offer["compatibilities"] if fits(c, kubernetes)])
    }
    defaults = [version for version, is_default in fitting.items() if is_default]
    return max(defaults or fitting, key=age, default=None)


def changes(kubernetes: str, pinned: Versions, found: Versions) -> list[str]:
    """What becomes of the pins of a Kubernetes version, a line each."""
    moved = [
        f"  {addon}: {pinned[addon]} -> {version}"
        for addon, version in found.items()
        if version != pinned[addon]
    ]
    gone = [f"  {addon}: not offered, kept as it is" for addon in pinned if addon not in found]
    return [f"Kubernetes {kubernetes}: {len(moved)} of {len(pinned)} change", *moved, *gone]


def fits(compatibility: Mapping[str, Any], kubernetes: str) -> bool:
    return bool(compatibility["clusterVersion"] == kubernetes)


def age(version: str) -> tuple[int, ...]:
    """v1.9.3-eksbuild.11 as numbers, so that newer is greater."""
    return tuple(map(int, re.findall(r"\d+", version)))


def repinned(text: str, kubernetes: str, versions: Versions, *, source: str) -> str:
    """The file with new versions for one Kubernetes version; all else as it was, line by line."""
    lines, section = [], ""
    for line in text.splitlines():
        if line and not line[0].isspace():
            section = line.strip('":')
        pin = PIN.match(line)
        if pin and section == kubernetes and pin["addon"] in versions:
            line = f"  {pin['addon']}: {versions[pin['addon']]} # {source}"
        lines.append(line)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
