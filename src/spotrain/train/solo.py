"""A channel without an agent: `python train.py` on one device, for trying a script out."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from spotrain.agent.rank import Assignment, PeerReturned


class SoloChannel:
    """Answers like an agent whose world is this process alone."""

    def __init__(self) -> None:
        self._floor = 0
        self._notice = 0
        """The signal that asked this process to leave; 0: none has."""
        self.on_peer_returned: Callable[[PeerReturned], None] = lambda _: None

    def arrive(self, *, survivor: bool, floor: int) -> None:
        self._floor = max(self._floor, floor)

    def next_world(self) -> Assignment:
        """The next world of this process alone.

        Raises:
            SystemExit: a notice came, and what was done has been saved.
        """
        if self._notice:
            raise SystemExit(128 + self._notice)
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

    def mark(self, *, step: int, batches: int) -> None:
        pass

    def is_drain_asked(self, world: int) -> bool:
        return self._notice != 0

    def is_leave_asked(self, world: int) -> bool:
        return False

    def drained(self, world: int) -> None:
        pass

    def broken(self, world: int, message: str, *, excused: bool) -> None:
        pass

    def returned(self, world: int, rank: int, *, step: int, collectives: int) -> None:
        pass

    def deserted(self, world: int, rank: int, *, step: int) -> None:
        pass

    def trained(self, world: int) -> None:
        pass

    def progress(self, world: int, **report: Any) -> None:
        pass

    def ask_commit(self, world: int, step: int, *, timeout_seconds: float) -> bool | None:
        return True

    def saved(self, world: int, step: int) -> None:
        pass

    @contextmanager
    def heeding_notices(self) -> Iterator[None]:
        """SIGTERM and Ctrl-C end training at the next step, saved; a second one ends it at once.

        A handler of the script's own stays as it is, and only the main thread can have any.
        """
        before = {
            number: handler
            for number, default in (
                (signal.SIGTERM, signal.SIG_DFL),
                (signal.SIGINT, signal.default_int_handler),
            )
            if (handler := signal.getsignal(number)) is default
        }
        if threading.current_thread() is not threading.main_thread():
            before = {}

        def take(number: int, _frame: FrameType | None) -> None:
            self._notice = number
            for heeded, default in before.items():
                signal.signal(heeded, default)
            # Written by hand: the signal may have come in the midst of a print.
            os.write(2, b"spotrain: saving, then leaving; the same signal again ends at once\n")

        for number in before:
            signal.signal(number, take)
        try:
            yield
        finally:
            for number, default in before.items():
                signal.signal(number, default)
