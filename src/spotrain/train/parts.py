"""A state on its way to storage: who writes which part of it, and the bytes of each part.

torch.distributed.checkpoint plans (which rank writes which block of a sharded tensor, and which of
several copies counts); bytes and their index are ours. Its own file format keeps the plan as a
pickle, which runs code when read, and its saves talk to other ranks from a thread for as long as
they write, which a world that may end at any moment cannot have.
"""

import ctypes
import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.distributed.checkpoint.default_planner import DefaultSavePlanner
from torch.distributed.checkpoint.planner import SavePlan, WriteItem
from torch.distributed.tensor import DTensor

from spotrain.checkpoints.manifest import DataFile
from spotrain.checkpoints.store import CHUNK, Sink, Store
from spotrain.train.index import Block, Chunk, Index, Stored
from spotrain.train.state import require_safe, split


@dataclass(frozen=True)
class Part:
    """What one rank writes: blocks of its own memory, and on rank 0 everything that is small."""

    rank: int
    plan: SavePlan
    tensors: Mapping[str, torch.Tensor]
    rest: bytes


Exchange = Callable[[SavePlan, Callable[[Sequence[SavePlan]], Sequence[SavePlan]]], SavePlan]
"""Gives each rank its share: (own plan, how rank 0 deals out all plans) -> own share."""


def plan(state: Mapping[str, Any], *, rank: int = 0, exchange: Exchange | None = None) -> Part:
    """What this rank has to write of a state.

    Without `exchange` this rank writes all of it; with it, every rank calls this with its own view
    of one state, and writes its blocks of the sharded tensors.

    Raises:
        TypeError: the state holds something that could not be loaded again.
    """
    require_safe(state)
    skeleton, tensors = split(state)
    if rank > 0:
        tensors = {name: tensor for name, tensor in tensors.items() if is_sharded(tensor)}
    planner = DefaultSavePlanner(flatten_state_dict=False, flatten_sharded_tensors=False)
    planner.set_up_planner(dict(tensors), is_coordinator=rank == 0)
    own = planner.create_local_plan()

    def deal_out(plans: Sequence[SavePlan]) -> Sequence[SavePlan]:
        return planner.create_global_plan(list(plans))[0]

    share = exchange(own, deal_out) if exchange else deal_out([own])[0]
    local = {name: local_block(tensor) for name, tensor in tensors.items()}
    return Part(rank, planner.finish_plan(share), local, _pickled(skeleton) if rank == 0 else b"")


def is_sharded(tensor: torch.Tensor) -> bool:
    return isinstance(tensor, DTensor)


def local_block(tensor: torch.Tensor) -> torch.Tensor:
    """The memory of this rank; no copy."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def with_copies(part: Part, copy: Callable[[str, torch.Tensor], torch.Tensor]) -> Part:
    """The same part of a copy: of the planned tensors only."""
    names = {item.index.fqn for item in part.plan.items}
    return replace(part, tensors={n: copy(n, t) for n, t in part.tensors.items() if n in names})


@dataclass(frozen=True)
class Written:
    """A part on storage: what to check it by, and where its tensors lie."""

    name: str
    file: DataFile
    index: Index


def write(store: Store, folder: str, part: Part) -> Written:
    """Write a part as one file, hashed on its way and durable on return."""
    file = f"data-{part.rank:05d}.bin"
    with store.write(f"{folder}/{file}") as sink:
        writer = _Writer(sink)
        tensors = {}
        for item in part.plan.items:
            start = writer.size
            writer.add(_bytes_of(part.tensors[item.index.fqn]))
            tensors[item.index.fqn] = _stored(item, file, start)
        rest = Block(file, writer.size, len(part.rest)) if part.rest else None
        writer.add(memoryview(part.rest))
    return Written(f"{folder}/{file}", writer.result(), Index(tensors, rest))


def write_bytes(store: Store, name: str, data: bytes) -> DataFile:
    with store.write(name) as sink:
        writer = _Writer(sink)
        writer.add(memoryview(data))
    return writer.result()


class _Writer:
    """Writes and hashes the same bytes, some megabytes at a time, without holding Python's lock."""

    def __init__(self, sink: Sink) -> None:
        self.size = 0
        self._sink = sink
        self._hash = hashlib.sha256()

    def add(self, data: memoryview) -> None:
        for start in range(0, len(data), CHUNK):
            piece = data[start : start + CHUNK]
            self._sink(piece)
            self._hash.update(piece)
        self.size += len(data)

    def result(self) -> DataFile:
        return DataFile(size=self.size, sha256=self._hash.hexdigest())


def _stored(item: WriteItem, file: str, start: int) -> Stored:
    data = item.tensor_data
    assert data is not None
    chunk = Chunk(tuple(data.chunk.offsets), tuple(data.chunk.sizes), file, start)
    return Stored(data.properties.dtype, tuple(data.size), (chunk,))


def _bytes_of(tensor: torch.Tensor) -> memoryview:
    """The tensor's bytes in row order: its own memory where that is plain, else a copy."""
    plain = tensor.detach().cpu().contiguous()
    if plain.numel() == 0:
        return memoryview(b"")
    array = (ctypes.c_char * (plain.numel() * plain.itemsize)).from_address(plain.data_ptr())
    # The array knows nothing of the tensor; this keeps its memory until the last view is gone.
    array.owner = plain  # type: ignore[attr-defined]
    return memoryview(array).cast("B")


def _pickled(skeleton: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(skeleton, buffer)
    return buffer.getvalue()
