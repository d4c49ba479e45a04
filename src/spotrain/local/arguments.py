"""What the commands of this package read alike: pairs, folders, and one line where it is wrong."""

from collections.abc import Iterable
from pathlib import Path


class UsageError(ValueError):
    """What was asked for cannot be run; the message is one line, the exit code 2."""


def read_pairs(texts: Iterable[str], option: str, form: str) -> dict[str, str]:
    """`form` is what the help shows, such as CLAIM=FOLDER. Raises UsageError."""
    pairs = {}
    for text in texts:
        name, found, value = text.partition("=")
        if not (name and found and value):
            raise UsageError(f"{option} {text!r} has not the form {form}")
        pairs[name] = value
    return pairs


def require_folder(path: Path, option: str) -> Path:
    """The folder, if it is one. Raises UsageError."""
    if not path.is_dir():
        raise UsageError(
            f"{option}: {path} is no folder on this machine; create it, or name another"
        )
    return path
