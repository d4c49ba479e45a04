"""The files stacks/Pulumi.<stack>.yaml: which there are, and what stands in one of them.

Pulumi ignores what it does not know, at the top and below `config:`. So this looks at every key.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from stacks import yaml_text
from stacks.clouds import MODULES, settings_class
from stacks.problems import KEY, NAMESPACE, SETTINGS, UNSET, Problem, SettingsError, suggestion
from stacks.wording import written

STACKS = Path(__file__).parent
CONFIG = "config"
PULUMI_KEYS = (
    CONFIG,
    "encryptedkey",
    "encryptionsalt",
    "environment",
    "mainEnvironment",
    "packages",
    "secretsprovider",
)
"""What Pulumi reads at the top of a stack file."""


@dataclass(frozen=True, kw_only=True)
class StackFile:
    """The settings as they stand there, and the keys that nobody would read."""

    settings: object
    problems: Sequence[Problem]


def stack_names() -> list[str]:
    """The stacks that have a file."""
    files = STACKS.glob("Pulumi.*.yaml")
    return sorted(file.name.removeprefix("Pulumi.").removesuffix(".yaml") for file in files)


def source_of(stack: str) -> str:
    """The file of a stack, as messages name it."""
    return f"stacks/Pulumi.{stack}.yaml"


def read(stack: str) -> StackFile:
    """A stack's file. Raises SettingsError: there is none, or it is no YAML."""
    if stack not in stack_names():
        raise SettingsError(_no_stack(stack), [])
    try:
        data = (STACKS / f"Pulumi.{stack}.yaml").read_bytes()
    except OSError as error:
        raise SettingsError(f"{source_of(stack)} cannot be read: {error.strerror}", []) from None
    found = yaml_text.read(data, source_of(stack))
    settings, problems = settings_in(found.document)
    if settings is None and not problems:
        problems = [missing_settings(source_of(stack))]
    return StackFile(settings=settings, problems=(*found.problems, *problems))


def read_config(stack: str) -> dict[str, Any]:
    """The `config` of a stack file that has nothing wrong beside the settings; keys without the
    project."""
    file = read(stack)
    if file.problems:
        raise SettingsError(source_of(stack), file.problems)
    return {KEY: file.settings}


def settings_in(document: object) -> tuple[object, list[Problem]]:
    """The settings, wherever in the file they are, and every key that is in the wrong place."""
    top = document if isinstance(document, dict) else {}
    config = _section(top, CONFIG)
    settings = _section(config, SETTINGS) or top.get(SETTINGS)
    known = _known_settings(settings)
    problems = [*_at_the_top(top, known), *_in_config(config, known)]
    misplaced = {key: top[key] for key in top if key in known}
    if misplaced and isinstance(settings, dict | None):  # judged as if it stood right
        settings = {**misplaced, **(settings or {})}
    return settings, problems


def missing_settings(source: str) -> Problem:
    """The stack file says nothing."""
    return Problem(
        path=f"{CONFIG}.{SETTINGS}",
        value=UNSET,
        rule="required; it holds every setting of the stack",
        reason="there is nothing to build without a region, zones and pools",
        next_step=f"copy the key from stacks/Pulumi.dev.yaml to {source} and edit it",
    )


def _no_stack(stack: str) -> str:
    names = stack_names()
    listed = ", ".join(names)
    if not stack:
        return f"no stack named; there are: {listed}\n  next    make preview STACK=dev"
    meant = get_close_matches(stack.lower(), names, n=1)
    ask = f"did you mean {meant[0]}? Else " if meant else ""
    return (
        f"no stack {stack!r}; there are: {listed}\n"
        f"  next    {ask}copy stacks/Pulumi.dev.yaml to {source_of(stack)} and edit it"
    )


def _section(above: object, wanted: str) -> Any:
    """What stands under a key, or under the one that is nearest to it."""
    if not isinstance(above, dict):
        return None
    key = wanted if wanted in above else next(iter(get_close_matches(wanted, above, n=1)), wanted)
    return above.get(key)


def _known_settings(settings: object) -> frozenset[str]:
    """The names that stand below the key of the settings; of the cloud that is named there."""
    cloud = settings.get("cloud") if isinstance(settings, dict) else None
    clouds = [cloud] if isinstance(cloud, str) and cloud in MODULES else MODULES
    return frozenset(name for each in clouds for name in settings_class(each).model_fields)


def _at_the_top(top: Mapping[str, object], known: frozenset[str]) -> Iterator[Problem]:
    for key in top:
        if key not in PULUMI_KEYS:
            yield Problem(
                path=f"{key}, at the top",
                value="(set)",
                rule=f"a key that Pulumi reads at the top: {', '.join(PULUMI_KEYS)}",
                reason="Pulumi ignores any other without a word, so it would change nothing",
                next_step=_instead(key, top[key], known, PULUMI_KEYS),
            )


def _in_config(config: object, known: frozenset[str]) -> Iterator[Problem]:
    if config is not None and not isinstance(config, dict):
        yield Problem(
            path=CONFIG,
            value=written(config),
            rule=f"a section with the key {SETTINGS}",
            reason="that key holds every setting of the stack",
            next_step=f"write `{SETTINGS}:` below it, and the settings below that",
        )
        return
    for key, value in (config or {}).items():
        if key != SETTINGS:
            yield Problem(
                path=f"{CONFIG}.{key}",
                value="(set)",
                rule=f"{SETTINGS} is the only key of this project",
                reason="this program asks for no other, so it would change nothing here",
                next_step=_instead(key, value, known, [SETTINGS]),
            )


def _instead(key: str, value: object, known: frozenset[str], near: Sequence[str]) -> str:
    if key == SETTINGS:
        return "indent it below `config:`"
    if key == "aws:region":
        region = value if isinstance(value, str) else "<region>"
        return f"remove it; the region stands in {SETTINGS}, as `region: {region}`"
    name = key.removeprefix(f"{NAMESPACE}:")
    if name in known:
        return f"write it below {SETTINGS}, indented like the other settings: `{name}:`"
    return suggestion(key, near)
