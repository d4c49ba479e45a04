"""What `pulumi up` would build, without an account: python -m stacks.preview <stack>

Runs the very program, __main__.py, under stand-ins for the cloud, and writes
build/preview/<stack>.json.
"""

import argparse
import json
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from stacks import preview_view, schema, unique_keys
from stacks.problems import Problem, SettingsError, suggestion
from stacks.recorder import Recording, record

ROOT = Path(__file__).parents[1]
STACKS = ROOT / "stacks"
USAGE_ERROR = 2


def main(
    argv: Sequence[str] | None = None, *, program: Path = ROOT / "__main__.py", build: Path = ROOT
) -> int:
    """0: shown. 1: the program itself is wrong. 2: the stack, or its file, is."""
    args = _parser().parse_args(argv)
    try:
        config = read_config(args.stack)
        settings = schema.parse(config[schema.KEY], source=f"stacks/Pulumi.{args.stack}.yaml")
    except SettingsError as error:
        _say(str(error))
        return USAGE_ERROR
    recording = run_program(program, args.stack, config)
    if duplicates := recording.duplicates():
        _say("two resources with one URN; Pulumi refuses that. Rename one of each:")
        _say("\n".join(duplicates))
        return 1
    path = build / "build" / "preview" / f"{args.stack}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(recording.document(), indent=1, sort_keys=True) + "\n")
    console = Console(highlight=False, emoji=False)
    preview_view.show(console, args.stack, settings, recording, every_resource=args.all)
    more = "" if args.all else f" Every resource: make preview STACK={args.stack} ALL=--all."
    _say(f"\nInputs: {path.relative_to(build)}.{more} Next: pulumi up --stack {args.stack}")
    return 0


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


def stack_names() -> list[str]:
    """The stacks that have a file."""
    files = STACKS.glob("Pulumi.*.yaml")
    return sorted(file.name.removeprefix("Pulumi.").removesuffix(".yaml") for file in files)


def read_config(stack: str) -> dict[str, Any]:
    """The `config` of a stack file, keys without the project. Pulumi would ignore a wrong key."""
    if stack not in stack_names():
        raise SettingsError(_no_stack(stack), [])
    source = f"stacks/Pulumi.{stack}.yaml"
    document = unique_keys.load((STACKS / f"Pulumi.{stack}.yaml").read_text(), source)
    return checked_config(document, source)


def _no_stack(stack: str) -> str:
    names = ", ".join(stack_names())
    if not stack:
        return f"no stack named; there are: {names}\n  next    make preview STACK=dev"
    return (
        f"no stack {stack!r}; there are: {names}\n"
        f"  next    copy stacks/Pulumi.dev.yaml to stacks/Pulumi.{stack}.yaml and edit it"
    )


def checked_config(document: object, source: str) -> dict[str, Any]:
    """The one key that we read; any other is a typo."""
    top = document if isinstance(document, dict) else {}
    wanted = f"{schema.NAMESPACE}:{schema.KEY}"
    given = top["config"] if isinstance(top.get("config"), dict) else {}
    problems = [_wrong_place(str(key), wanted) for key in top if ":" in str(key)]
    problems += [_wrong_key(str(key), given[key], wanted) for key in given if key != wanted]
    if problems or wanted not in given:
        raise SettingsError(source, problems or [schema.missing_settings(source)])
    return {schema.KEY: given[wanted]}


def _wrong_place(key: str, wanted: str) -> Problem:
    """A key that stands beside `config`, not in it."""
    return Problem(
        path=key,
        value="(set)",
        rule=f"{wanted}, below `config:`, is the only key of this project",
        reason="Pulumi reads no configuration outside `config:`",
        next_step="indent it below `config:`" if key == wanted else _instead(key, None, wanted),
    )


def _wrong_key(key: str, value: object, wanted: str) -> Problem:
    return Problem(
        path=f"config.{key}",
        value="(set)",
        rule=f"{wanted} is the only key of this project",
        reason="this program asks for no other, so it would change nothing here",
        next_step=_instead(key, value, wanted),
    )


def _instead(key: str, value: object, wanted: str) -> str:
    if key == "aws:region":
        region = value if isinstance(value, str) else "<region>"
        return f"remove it; the region stands in {wanted}, as `region: {region}`"
    return suggestion(key, [wanted])


def run_program(program: Path, stack: str, config: dict[str, Any]) -> Recording:
    """The program, to its end."""

    def _run_path() -> None:
        runpy.run_path(str(program), run_name="__main__")

    return record(
        _run_path,
        project=schema.NAMESPACE,
        stack=stack,
        config={f"{schema.NAMESPACE}:{key}": json.dumps(value) for key, value in config.items()},
    )


if __name__ == "__main__":
    sys.exit(main())
