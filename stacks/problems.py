"""What is wrong with a stack file, in four parts: value, rule, reason, next step."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches

import pulumi

NAMESPACE = "spotrain"
KEY = "settings"
SETTINGS = f"{NAMESPACE}:{KEY}"
"""The one key of this project, below `config:` in a stack file."""
UNSET = "(not set)"


class NotKnown(AttributeError):
    """A setting that is itself wrong, or missing: nothing can be said about it beside that."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that a person must change."""

    path: str
    value: object
    rule: str
    reason: str
    next_step: str

    def __str__(self) -> str:
        return (
            f"  {self.path}: {self.value}\n"
            f"    rule    {self.rule}\n"
            f"    reason  {self.reason}\n"
            f"    next    {self.next_step}"
        )


class SettingsError(pulumi.RunError):
    """A stack file that cannot be used. Pulumi prints a RunError without a traceback."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        count = f": {len(problems)} problem{'s' if len(problems) > 1 else ''}" if problems else ""
        super().__init__("\n".join([f"{source}{count}", *map(str, problems)]))
        self.problems = tuple(problems)


def every(rules: Iterable[Callable[..., Iterator[Problem]]], *given: object) -> Iterator[Problem]:
    """What each rule says; nothing more of one once it asks for a setting that is not known."""
    for rule in rules:
        with suppress(NotKnown):
            yield from rule(*given)


def unknown_setting(path: str, value: object, name: str, known: Iterable[str]) -> Problem:
    """`name`: the last part of `path`, as it stands in the file; `known`: what may stand there."""
    return Problem(
        path=path,
        value=value,
        rule="no setting has this name",
        reason="a setting that nobody reads changes nothing, so a typo would go unnoticed",
        next_step=suggestion(name, known),
    )


def suggestion(word: str, known: Iterable[str]) -> str:
    """The next step for a name that nobody knows."""
    names = sorted(known)
    by_lower = {name.lower(): name for name in names}
    close = get_close_matches(word.lower(), by_lower, n=1)
    listed = f"known here: {', '.join(names)}"
    return f"did you mean {by_lower[close[0]]!r}? {listed}" if close else listed


def dotted(location: Sequence[str | int]) -> str:
    """('pools', 0, 'zones') -> pools[0].zones"""
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path or SETTINGS
