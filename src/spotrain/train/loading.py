"""A state back from storage, whatever number of ranks wrote it and whatever number reads it."""

import io
from collections.abc import Mapping
from typing import Any

import torch
from torch.distributed.checkpoint.default_planner import create_default_local_load_plan
from torch.distributed.checkpoint.metadata import (
    STORAGE_TYPES,
    ChunkStorageMetadata,
    Metadata,
    TensorProperties,
    TensorStorageMetadata,
)
from torch.distributed.checkpoint.planner import ReadItem

from spotrain.checkpoints.store import Store, read
from spotrain.train.index import Index, Stored
from spotrain.train.parts import is_sharded, local_block
from spotrain.train.state import join, split


def load(
    store: Store,
    folder: str,
    index: Index,
    *,
    device: torch.device,
    like: Mapping[str, Any] | None = None,
) -> Any:
    """The state of a checkpoint. Nothing in it can run code.

    Where `like`, a state of the same form, has sharded tensors, their blocks of this rank are
    filled in place, and those tensors are in the state that is returned; all others are new.
    """
    assert index.rest is not None
    rest = read(store, f"{folder}/{index.rest.file}", index.rest.start, index.rest.length)
    skeleton = torch.load(io.BytesIO(rest), weights_only=True)
    present = split(like)[1] if like is not None else {}
    targets: dict[str, torch.Tensor] = {}

    def make(name: str, described: torch.Tensor) -> torch.Tensor:
        found = present.get(name)
        if found is None or not is_sharded(found):
            found = torch.empty(described.shape, dtype=described.dtype, device=device)
        targets[name] = found
        return found

    state = join(skeleton, make)
    stored: dict[str, STORAGE_TYPES] = {n: _metadata(index.tensors[n]) for n in targets}
    with torch.no_grad():
        for item in create_default_local_load_plan(targets, Metadata(stored)).items:
            _fill(store, folder, index.tensors[item.storage_index.fqn], item, targets)
    return state


def _fill(
    store: Store,
    folder: str,
    stored: Stored,
    item: ReadItem,
    targets: Mapping[str, torch.Tensor],
) -> None:
    """Copy the overlap of a stored chunk and of this rank's block."""
    wanted = tuple(item.storage_index.offset or (0,) * len(stored.shape))
    chunk = next(chunk for chunk in stored.chunks if chunk.offsets == wanted)
    block = stored.block(chunk)
    data = bytearray().join(store.chunks(f"{folder}/{block.file}", block.start, block.length))
    if len(data) != block.length:
        raise ValueError(f"{block.file} ends before byte {block.start + block.length}")
    source = torch.frombuffer(data, dtype=stored.dtype).view(chunk.sizes)
    target = local_block(targets[item.dest_index.fqn])
    _part(target, item.dest_offsets, item.lengths).copy_(
        _part(source, item.storage_offsets, item.lengths)
    )


def _part(tensor: torch.Tensor, offsets: torch.Size, lengths: torch.Size) -> torch.Tensor:
    for dimension, (offset, length) in enumerate(zip(offsets, lengths, strict=True)):
        tensor = tensor.narrow(dimension, offset, length)
    return tensor


def _metadata(stored: Stored) -> TensorStorageMetadata:
    return TensorStorageMetadata(
        properties=TensorProperties(dtype=stored.dtype),
        size=torch.Size(stored.shape),
        chunks=[
            ChunkStorageMetadata(torch.Size(chunk.offsets), torch.Size(chunk.sizes))
            for chunk in stored.chunks
        ],
    )
