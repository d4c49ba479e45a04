"""Where each tensor of a checkpoint lies: `index.json` beside the data, for people and programs.

    {"format": 1, "rest": [...], "tensors": {"tracked.model.fc.weight": {
        "dtype": "float32", "shape": [10, 512], "chunks": [
            {"offsets": [0, 0], "sizes": [5, 512], "file": "data-00000.bin", "start": 0}, ...]}}}

A chunk is a block of a tensor, written as plain bytes in row order, little-endian. Sharded models
have one chunk a rank. `rest` is everything that is no tensor, as `torch.load(weights_only=True)`
reads it.
"""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import torch

FORMAT: Final = 1


@dataclass(frozen=True)
class Block:
    """A run of bytes in a file of the checkpoint's folder."""

    file: str
    start: int
    length: int


@dataclass(frozen=True)
class Chunk:
    """A block of a tensor, and where in the tensor it belongs."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    file: str
    start: int


@dataclass(frozen=True)
class Stored:
    """One tensor of a checkpoint."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    chunks: tuple[Chunk, ...]

    def block(self, chunk: Chunk) -> Block:
        return Block(chunk.file, chunk.start, prod(chunk.sizes) * self.dtype.itemsize)


@dataclass(frozen=True)
class Index:
    tensors: Mapping[str, Stored]
    rest: Block | None
    """None in the part of a rank that writes tensors only."""

    def to_json(self) -> str:
        tensors = {
            name: {
                "dtype": str(stored.dtype).removeprefix("torch."),
                "shape": stored.shape,
                "chunks": [dataclasses.asdict(chunk) for chunk in stored.chunks],
            }
            for name, stored in self.tensors.items()
        }
        rest = self.rest and dataclasses.asdict(self.rest)
        return json.dumps({"format": FORMAT, "rest": rest, "tensors": tensors}) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> "Index":
        """Raises ValueError, KeyError or TypeError for anything else."""
        document = json.loads(text)
        if document["format"] != FORMAT:
            raise ValueError(
                f"format {document['format']!r} is not {FORMAT}, the one that this version reads: "
                "load it with the version that wrote it"
            )
        rest = document["rest"]
        return cls(
            tensors={name: _stored(entry) for name, entry in document["tensors"].items()},
            rest=Block(**rest) if rest else None,
        )


def merge(parts: Iterable[Index]) -> Index:
    """One index of what the ranks have written; exactly one of them wrote the rest."""
    tensors: dict[str, Stored] = {}
    rest: Block | None = None
    for part in parts:
        rest = rest or part.rest
        for name, stored in part.tensors.items():
            before = tensors[name].chunks if name in tensors else ()
            tensors[name] = dataclasses.replace(stored, chunks=before + stored.chunks)
    return Index(tensors, rest)


def _stored(entry: Mapping[str, Any]) -> Stored:
    dtype = getattr(torch, str(entry["dtype"]), None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"{entry['dtype']!r} is no type of tensors that this version knows")
    chunks = tuple(
        Chunk(tuple(chunk["offsets"]), tuple(chunk["sizes"]), str(chunk["file"]), chunk["start"])
        for chunk in entry["chunks"]
    )
    return Stored(dtype, tuple(entry["shape"]), chunks)
