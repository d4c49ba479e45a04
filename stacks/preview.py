"""What `pulumi up` would build, without an account: python -m stacks.preview <stack>

Runs the very program, __main__.py, under stand-ins for the cloud, and writes
build/preview/<stack>.json.
"""

import argparse
import json
import runpy
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from stacks import preview_view, schema, stack_file
from stacks.clouds import support
from stacks.platform_schema import PlatformSettings
from stacks.problems import KEY, NAMESPACE, SettingsError
from stacks.recorder import Recording, record
from stacks.stack_file import stack_names

ROOT = Path(__file__).parents[1]
USAGE_ERROR = 2
TOOLS = ("pulumi", "kubectl")
"""Needed on every cloud."""


def main(
    argv: Sequence[str] | None = None, *, program: Path = ROOT / "__main__.py", build: Path = ROOT
) -> int:
    """0: shown. 1: the program itself is wrong. 2: the stack, or its file, is."""
    args = _parser().parse_args(argv)
    try:
        file = stack_file.read(args.stack)
        source = stack_file.source_of(args.stack)
        settings = schema.parse(file.settings, source=source, beside=file.problems)
    except SettingsError as error:
        _say(str(error))
        return USAGE_ERROR
    recording = run_program(program, args.stack, {KEY: file.settings})
    if duplicates := recording.duplicates():
        _say("two resources with one URN; Pulumi refuses that. Rename one of each:")
        _say("\n".join(duplicates))
        return 1
    path = build / "build" / "preview" / f"{args.stack}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(recording.document(), indent=1, sort_keys=True) + "\n")
    console = Console(highlight=False, emoji=False)
    preview_view.show(console, args.stack, settings, recording, every_resource=args.all)
    for warning in recording.warnings:
        _say(f"\nwarning: {warning}")
    more = "" if args.all else f" Every resource: make preview STACK={args.stack} ALL=--all."
    _say(f"\nInputs: {path.relative_to(build)}.{more}")
    _say("\n".join(next_steps(args.stack, settings)))
    return 0


def next_steps(stack: str, settings: PlatformSettings) -> Iterator[str]:
    """From a preview to a cluster that kubectl talks to."""
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        yield f"Missing here: {', '.join(missing)}. README.md says where to get what it takes."
    needs = support(settings.cloud).quotas(settings)
    for what, commands in (("quotas:", needs.show), ("for more:", needs.ask)):
        yield from (f"{what:<12} {command}" for command in commands)
    yield f"Next, once:  pulumi login && pulumi stack init {stack}"
    yield f"to build:    pulumi up --stack {stack}"
    yield f"to look:     {support(settings.cloud).reach(settings, stack)}"


def _say(text: str) -> None:
    """stdout is the answer, stderr the talk; plain, as URNs look like rich's markup."""
    print(text, file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m stacks.preview", description="Show what a stack would build."
    )
    parser.add_argument("stack", nargs="?", default="", help=f"one of: {', '.join(stack_names())}")
    parser.add_argument("--all", action="store_true", help="name every resource")
    return parser


def run_program(program: Path, stack: str, config: dict[str, Any]) -> Recording:
    """The program, to its end."""

    def _run_path() -> None:
        runpy.run_path(str(program), run_name="__main__")

    return record(
        _run_path,
        project=NAMESPACE,
        stack=stack,
        config={f"{NAMESPACE}:{key}": json.dumps(value) for key, value in config.items()},
    )


if __name__ == "__main__":
    sys.exit(main())
