"""What training has waited for: the next batch of its data, and the start of a save."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

log = logging.getLogger(__name__)

MOST_DATA_SHARE: Final = 0.10
"""Of the time between steps; a rank that waits longer for its data is told so."""
WINDOW_SECONDS: Final = 60.0
"""Over which the share is taken: a slow first batch of an epoch is no slow data set."""
QUIET_SECONDS: Final = 600.0
"""Between two warnings of one process."""


class Waited:
    """Seconds of one rank, from the present world's first step on. Saves of planned changes are
    not among them: they belong to the change."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.data_seconds = 0.0
        self.save_seconds = 0.0
        self._has_stepped = False
        self._window = (0.0, 0.0)
        """When it began, and what had been waited for data until then."""
        self._quiet_until = 0.0

    def enter_world(self) -> None:
        """Nothing counts until the next step: before it, a world starts its data loaders."""
        self._has_stepped = False

    def for_data(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The same batches; the time that each one takes to come counts as waited."""
        source = iter(batches)
        while True:
            asked_at = self._clock()
            try:
                batch = next(source)
            except StopIteration:
                return
            self.data_seconds += self._clock() - asked_at
            yield batch

    @contextmanager
    def for_save(self) -> Iterator[None]:
        began = self._clock()
        try:
            yield
        finally:
            self.save_seconds += self._clock() - began

    def count_step(self, rank: int) -> None:
        """A step is done. Warns where too much of the last minute was waiting for data."""
        now = self._clock()
        if not self._has_stepped:
            self._has_stepped = True
            self.data_seconds = self.save_seconds = 0.0
            self._window = (now, 0.0)
            return
        began, before = self._window
        if now - began < WINDOW_SECONDS:
            return
        share = (self.data_seconds - before) / (now - began)
        self._window = (now, self.data_seconds)
        if share > MOST_DATA_SHARE and now >= self._quiet_until:
            self._quiet_until = now + QUIET_SECONDS
            log.warning(
                "rank %d waited for its data for %.0f %% of the last %.0f s, and all ranks with "
                "it: let more processes read it (workers=... of run.loader, num_workers of a "
                "DataLoader), or keep the data set on a faster volume",
                rank,
                100 * share,
                now - began,
            )
