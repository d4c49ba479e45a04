"""Where a process is, in Lightning's words."""

from typing import Any

from lightning.fabric.plugins.environments import ClusterEnvironment

from spotrain.train.session import Run


class WorldEnvironment(ClusterEnvironment):
    """The present world; its processes and its process group are there already."""

    def __init__(self, run: Run) -> None:
        self._place = run.place

    @property
    def creates_processes_externally(self) -> bool:
        return True

    @property
    def main_address(self) -> str:
        return self._place.store_host

    @property
    def main_port(self) -> int:
        return self._place.store_port

    @staticmethod
    def detect() -> bool:
        return False  # never chosen by itself: it needs a run

    def world_size(self) -> int:
        return self._place.world_size

    def global_rank(self) -> int:
        return self._place.rank

    def local_rank(self) -> int:
        return self._place.local_rank

    def node_rank(self) -> int:
        return self._place.group_rank

    def set_world_size(self, size: int) -> None:
        """Lightning multiplies nodes by devices, which says nothing of a world."""

    def set_global_rank(self, rank: int) -> None:
        """As with the size."""

    def validate_settings(self, num_devices: int, num_nodes: int) -> Any:
        """The world has the size that it has, whatever the trainer was told."""
