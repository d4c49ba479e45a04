"""What settings of several processes have in common: environment variables read by a rule."""

from collections.abc import Mapping
from typing import Final, TypeVar

ENV_LOG_LEVEL: Final = "SPOTRAIN_LOG_LEVEL"
D = TypeVar("D", int, None)
LOG_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR")


class SettingsError(ValueError):
    """A variable with a value that cannot be used; the message names both, and the rule."""


def read_log_level(environment: Mapping[str, str], default: str) -> str:
    """Raises SettingsError."""
    level = environment.get(ENV_LOG_LEVEL, default).upper()
    if level in LOG_LEVELS:
        return level
    raise SettingsError(
        f"{ENV_LOG_LEVEL}={level!r} is no level of logging; use DEBUG, INFO, WARNING or ERROR."
    )


def read_whole(
    environment: Mapping[str, str], name: str, unit: str, default: D, *, empty: str
) -> int | D:
    """1 or more; `default` where it is unset or empty, which is called `empty`. Raises
    SettingsError."""
    text = environment.get(name, "").strip()
    if not text:
        return default
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise SettingsError(
        f"{name}={text!r} is no number of {unit}, 1 or more; correct it, or leave it empty for "
        f"{empty}."
    )


def read_port(environment: Mapping[str, str], name: str, default: int) -> int:
    """Raises SettingsError."""
    text = environment.get(name, str(default))
    if text.isdecimal() and 0 < int(text) < 65536:
        return int(text)
    raise SettingsError(f"{name}={text!r} is no port, a number from 1 to 65535; correct it.")
