"""Files that others read, and write, meanwhile."""

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from spotrain.job import InvalidDocument
from spotrain.kinds import Object


def replace_file(path: Path, text: str) -> None:
    """Write beside and rename: a reader sees the old file or the new one."""
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    os.replace(partial, path)


def read_document(path: Path) -> Object:
    """Raises FileNotFoundError; InvalidDocument where it is spoilt, by a hand or a full disk."""
    try:
        document = json.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        raise spoilt(path, [("", f"it is no JSON ({error}).")]) from None
    if not isinstance(document, dict):
        raise spoilt(path, [("", "it is no mapping.")])
    return document


def spoilt(path: Path, problems: Sequence[tuple[str, str]]) -> InvalidDocument:
    """What to raise where the file cannot be used."""
    last = ("", "Mend it, or remove its folder, and with it the job.")
    return InvalidDocument(str(path), [*problems, last])


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Whoever else comes waits."""
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
