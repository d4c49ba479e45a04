"""What one check has found."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    passed = "pass"
    warn = "warn"
    """Works, with less than was asked for; or could not be looked at."""
    fail = "fail"
    """Jobs that need it will not run."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    check: str
    """What was looked at, in a few words."""
    verdict: Verdict
    said: str
    """What was found, in one sentence."""
    fix: str = ""
    """What to do, a command where there is one; empty where all is well."""


def passed(check: str, said: str) -> Finding:
    return Finding(check=check, verdict=Verdict.passed, said=said)


def warn(check: str, said: str, fix: str) -> Finding:
    return Finding(check=check, verdict=Verdict.warn, said=said, fix=fix)


def fail(check: str, said: str, fix: str) -> Finding:
    return Finding(check=check, verdict=Verdict.fail, said=said, fix=fix)


def gravest(findings: Iterable[Finding]) -> Verdict:
    order = list(Verdict)
    return max((each.verdict for each in findings), key=order.index, default=Verdict.passed)
