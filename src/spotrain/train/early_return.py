"""Detection of ranks that return from training while others train on.

A rank that has returned takes part in no further collective call of the script. Another rank that
issues one waits for it without an error, until the collective's timeout of half an hour. Every
returning rank therefore reports its position, as (global step, collective calls since that step).
A rank that has come further than that waits in vain, and reports so from a thread of its own: its
training thread is inside the collective call.
"""

import threading
from typing import Final

from spotrain.agent.rank import Channel, PeerReturned
from spotrain.train.group import Group
from spotrain.train.position import Position
from spotrain.train.solo import SoloChannel

CHECK_SECONDS: Final = 0.2


class EarlyReturns:
    """One rank's watch over peers that return, for one world after the other."""

    def __init__(self, channel: Channel | SoloChannel, position: Position) -> None:
        self._channel = channel
        self._position = position
        self._lock = threading.Lock()
        self._group: Group | None = None
        """None while this rank is in no world, and once training has returned on it."""
        self._last_step = (0, 0)
        """Global step that was done last, and the collective calls up to then. One value, because
        the watching thread must not see the one without the other."""
        channel.on_peer_returned = self._watch

    def enter_world(self, group: Group) -> None:
        """To be called where all ranks of the world stand at the same point."""
        with self._lock:
            self._group = group
            self.count_step()

    def count_step(self) -> None:
        if self._group is not None:
            self._last_step = (self._position.step, self._group.collectives())

    def leave_world(self) -> None:
        with self._lock:
            self._group = None

    def report_return(self) -> None:
        """Report that training has returned on this rank, and watch no more."""
        group = self._group
        self.leave_world()
        if group is not None and group.place.world_size > 1:
            step, collectives = self._progress(group)
            self._channel.returned(
                group.place.number, group.place.rank, step=step, collectives=collectives
            )

    def _progress(self, group: Group) -> tuple[int, int]:
        step, before = self._last_step
        return step, group.collectives() - before

    def _watch(self, peer: PeerReturned) -> None:
        threading.Thread(
            target=self._check_until_left, args=(peer,), name="early-return", daemon=True
        ).start()

    def _check_until_left(self, peer: PeerReturned) -> None:
        left = threading.Event()
        while (is_ahead := self._is_ahead_of(peer)) is False:
            left.wait(CHECK_SECONDS)
        if is_ahead:
            self._channel.deserted(peer.world, peer.rank, step=peer.step)

    def _is_ahead_of(self, peer: PeerReturned) -> bool | None:
        """None: this rank has left the world or returned itself."""
        with self._lock:
            if self._group is None or self._group.place.number != peer.world:
                return None
            return self._progress(self._group) > (peer.step, peer.collectives)
