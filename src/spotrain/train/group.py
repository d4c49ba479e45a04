"""The ranks of one world as a torch process group, made and left without leaving the process."""

import os
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import (  # type: ignore[attr-defined]
    AllreduceOptions,
    HashStore,
    PrefixStore,
    ProcessGroup,
    Store,
    TCPStore,
)

from spotrain.agent.rank import Assignment
from spotrain.train.rhythm import Rhythm

COLLECTIVE_TIMEOUT = timedelta(minutes=30)
"""Others wait in a collective while one rank imports, loads, hashes or saves many gigabytes. A lost
peer costs no timeout: the coordinator hears of it, and the agent ends ranks that hang."""
_LARGEST = AllreduceOptions()
_LARGEST.reduceOp = dist.ReduceOp.MAX


class Group:
    """Collectives of the present world. Everything here is called by all ranks in one order."""

    def __init__(self, place: Assignment, device: torch.device) -> None:
        self.place = place
        self.device = device
        _say_place(place)
        dist.init_process_group(
            backend="cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo",
            store=_open_client(place),
            rank=place.rank,
            world_size=place.world_size,
            timeout=COLLECTIVE_TIMEOUT,
        )
        default = dist.group.WORLD
        assert default is not None
        self._default: ProcessGroup = default
        # A group of its own keeps the agreement's messages apart from gradients in flight.
        agreement = dist.new_group(backend="gloo", timeout=COLLECTIVE_TIMEOUT)
        assert isinstance(agreement, ProcessGroup)
        self._agreement: ProcessGroup = agreement
        self._asked: dist.Work | None = None
        self._wish = torch.zeros(1, dtype=torch.int32)
        self._rhythm = Rhythm()

    def agree(self, wish: int) -> int:
        """The largest wish that a rank had when they asked each other last: the same on all.

        The all-reduce runs during the next step and is read one step late, because waiting for
        it would take longer than issuing it.
        """
        if self.place.world_size == 1:
            return wish
        agreed = 0
        if self._asked is not None:
            self._asked.wait()
            self._asked = None
            agreed = self._rhythm.answer(int(self._wish.item()))
        if self._rhythm.is_due() and not agreed:
            self._wish.fill_(self._rhythm.ask(wish, time.monotonic()))
            # Not by dist.all_reduce: what it adds takes as long as the rest.
            self._asked = self._agreement.allreduce([self._wish], _LARGEST)
        return agreed

    def choose(self, choice: Sequence[int] | None) -> tuple[int, ...] | None:
        """Rank 0's pair of numbers, on every rank."""
        given, *chosen = self.tell([1, *choice] if choice is not None else [0, 0, 0])
        return tuple(chosen) if given else None

    def tell(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """Rank 0's numbers, on every rank; the others give as many."""
        told = torch.tensor(numbers)
        if self.place.world_size > 1:
            dist.broadcast(told, src=0, group=self._agreement)
        return tuple(told.tolist())

    def gather(self, object: Any) -> list[Any] | None:
        """Every rank's object, at rank 0."""
        if self.place.world_size == 1:
            return [object]
        gathered = [None] * self.place.world_size if self.place.rank == 0 else None
        dist.gather_object(object, gathered, dst=0, group=self._agreement)
        return gathered

    def scatter(self, objects: Sequence[Any] | None) -> Any:
        """Each rank's own of rank 0's objects."""
        if self.place.world_size == 1:
            assert objects is not None
            return objects[0]
        own: list[Any] = [None]
        given = list(objects) if objects is not None else None
        dist.scatter_object_list(own, given, src=0, group=self._agreement)
        return own[0]

    def collectives(self) -> int:
        """How many collective calls this rank has issued in the default process group.

        That count is the same on all ranks between two calls, and readable from any thread.
        """
        number = self._default._get_sequence_number_for_group()  # type: ignore[attr-defined]
        return int(number)

    def open_store(self, timeout: timedelta) -> Store:
        """A connection of one's own to the store of this world."""
        return _open_client(self.place, timeout)

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        total = tensor.clone()
        if self.place.world_size > 1:
            dist.all_reduce(total)
        return total


def leave_world() -> None:
    """Leave the process group; after a failed collective this also ends those of the others."""
    if dist.is_initialized():
        dist.destroy_process_group()


def _open_client(place: Assignment, timeout: timedelta = COLLECTIVE_TIMEOUT) -> Store:
    if place.store_port == 0:  # alone, without an agent
        return HashStore()
    store = TCPStore(
        host_name=place.store_host,
        port=place.store_port,
        world_size=None,
        is_master=False,
        timeout=timeout,
        wait_for_workers=False,
    )
    return PrefixStore(f"world-{place.number}", store)


def _say_place(place: Assignment) -> None:
    """Scripts and libraries read torchrun's variables; they hold for the present world."""
    os.environ.update(
        RANK=str(place.rank),
        WORLD_SIZE=str(place.world_size),
        LOCAL_RANK=str(place.local_rank),
        LOCAL_WORLD_SIZE=str(place.local_world_size),
        GROUP_RANK=str(place.group_rank),
        GROUP_WORLD_SIZE=str(place.group_world_size),
        ROLE_RANK=str(place.rank),
        ROLE_WORLD_SIZE=str(place.world_size),
        MASTER_ADDR=place.store_host,
        MASTER_PORT=str(place.store_port),
    )
