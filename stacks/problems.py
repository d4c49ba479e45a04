"""What is wrong with a stack file, in four parts: value, rule, reason, next step."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import pulumi

UNSET = "(not set)"


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
    return path or "spotrain:settings"
