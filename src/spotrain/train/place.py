"""Where a process is in its present world: the part of a run that only tells."""

import torch

from spotrain.agent.rank import Assignment
from spotrain.train.group import Group
from spotrain.train.membership import Membership
from spotrain.train.position import Position


class Placed:
    """What changes from world to world, as `spotrain.train.Run` shows it."""

    membership: Membership
    _position: Position

    @property
    def place(self) -> Assignment:
        assert self._position.place is not None
        return self._position.place

    @property
    def rank(self) -> int:
        return self.place.rank

    @property
    def world_size(self) -> int:
        return self.place.world_size

    @property
    def is_main(self) -> bool:
        return self.place.rank == 0

    @property
    def world(self) -> int:
        """Number of the present world; it only rises."""
        return self.place.number

    @property
    def device(self) -> torch.device:
        return self._group.device

    @property
    def steps_done(self) -> int:
        """Global steps done since the job began, over all worlds."""
        return self._position.step

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor summed over all ranks; every rank calls it."""
        return self._group.sum(tensor)

    @property
    def _group(self) -> Group:
        return self.membership.group
