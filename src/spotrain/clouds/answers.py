"""What a cloud answers to one question: a value, or why there is none."""

from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

LOGGED_OUT: Final = (
    "NoCredentials",
    "ExpiredToken",
    "InvalidClientTokenId",
    "NoProfile",
    "UNAUTHENTICATED",
)
"""Codes, the clouds' and ours, of those who are nobody to a cloud."""


@dataclass(frozen=True)
class Refused:
    """A question that was not answered."""

    code: str
    """The cloud's word: AccessDenied, PERMISSION_DENIED; Unreachable and NoCredentials are ours."""
    message: str

    @property
    def is_denied(self) -> bool:
        told = ("Denied", "Unauthorized", "PERMISSION_DENIED")
        return any(word in self.code for word in told) or self.code == "AuthFailure"

    @property
    def is_logged_out(self) -> bool:
        return self.code in LOGGED_OUT

    @property
    def is_throttled(self) -> bool:
        told = ("RequestLimitExceeded", "TooManyRequests", "RESOURCE_EXHAUSTED")
        return "Throttl" in self.code or self.code in told


class NotInterrupted(Exception):
    """A machine was not taken back. One line for a person: what, why, and what to do."""


T = TypeVar("T")
Answer: TypeAlias = T | Refused
