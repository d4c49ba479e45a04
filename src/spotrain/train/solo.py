"""A channel without an agent: `python train.py` on one device, for trying a script out."""

from typing import Any

from spotrain.agent.rank import Assignment


class SoloChannel:
    """Answers like an agent whose world is this process alone. Notices are not handled."""

    def __init__(self) -> None:
        self._floor = 0

    def arrive(self, *, survivor: bool, floor: int) -> None:
        self._floor = floor

    def next_world(self) -> Assignment:
        return Assignment(
            number=self._floor + 1,
            rank=0,
            world_size=1,
            local_rank=0,
            local_world_size=1,
            group_rank=0,
            group_world_size=1,
            store_host="127.0.0.1",
            store_port=0,
            restore=None,
        )

    def is_drain_asked(self, world: int) -> bool:
        return False

    def is_leave_asked(self, world: int) -> bool:
        return False

    def drained(self, world: int) -> None:
        pass

    def broken(self, world: int, message: str, *, excused: bool) -> None:
        pass

    def progress(self, world: int, **report: Any) -> None:
        pass

    def ask_commit(self, world: int, step: int, *, timeout_seconds: float) -> bool | None:
        return True

    def saved(self, world: int, step: int) -> None:
        pass
