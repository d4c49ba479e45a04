"""Files that only grow, one JSON object a line, in which a crash leaves no half line."""

import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final

from spotrain.checkpoints.store.directory import sync_folder

logger = logging.getLogger(__name__)

Document = dict[str, Any]
BLOCK: Final = 1 << 16
"""Bytes read at a time, backwards, in search of the last whole line."""


def append(path: Path, documents: Iterable[Mapping[str, Any]]) -> None:
    """Durable when it returns. What a crash left of an earlier line goes first.

    Raises OSError: nothing counts as written, and the same may be appended again.
    """
    data = b"".join(encode(document) for document in documents)
    if not data:
        return
    is_new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+b") as file:
        _mend(file)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if is_new:
        sync_folder(path.parent)


def replace(path: Path, documents: Iterable[Mapping[str, Any]]) -> None:
    """The file anew, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    with open(partial, "wb") as file:
        file.write(b"".join(encode(document) for document in documents))
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    sync_folder(path.parent)


def read(path: Path) -> Iterator[Document]:
    """Every whole line; nothing where there is no file. A damaged line is left out, and logged."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return  # still being written, or torn by a crash
            if (document := decode(line)) is not None:
                yield document
            else:
                logger.error("%s: line %d is no JSON object; it is left out", path, number)


def encode(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Document | None:
    try:
        document = json.loads(line)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _mend(file: IO[bytes]) -> None:
    """Cut what follows the last line feed."""
    end = keep = file.seek(0, os.SEEK_END)
    while keep > 0:
        start = max(0, keep - (1 if keep == end else BLOCK))
        file.seek(start)
        if (found := file.read(keep - start).rfind(b"\n")) >= 0:
            keep = start + found + 1
            break
        keep = start
    if keep < end:
        logger.warning("%s ended in the middle of a line: %d bytes cut", file.name, end - keep)
        file.truncate(keep)
