"""From a state to a checkpoint: written, then asked for, then published; one at a time."""

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from spotrain.agent.rank import Channel
from spotrain.checkpoints.retention import Retention, prune
from spotrain.train.checkpoint import Catalogue, CheckpointError, CheckpointId, Staged
from spotrain.train.pace import Cost
from spotrain.train.parts import Part, Written
from spotrain.train.snapshot import Snapshots
from spotrain.train.solo import SoloChannel

log = logging.getLogger(__name__)

ANSWER_SECONDS = 5.0
"""The coordinator answers in milliseconds, or is away; the agent says so at once if it knows."""
RETRY_SECONDS = 0.5
"""Between two questions to a coordinator that is away; the data waits on disk meanwhile."""


Gather = Callable[[Written | None], list[Written] | None]
"""Brings all parts to the one rank that commits; None: this one could not be written."""


def alone(written: Written | None) -> list[Written] | None:
    return [written] if written else None


class Outcome(Enum):
    """What became of a save."""

    PUBLISHED = 1
    UNANSWERED = 2
    """The coordinator was away, so nothing was committed; the next save covers it."""
    REFUSED = 3
    """A newer world is on: nothing of this one may count any more."""
    HANDED_OVER = 5
    """This rank's part is written; rank 0 commits the whole."""
    FAILED = 4
    """It could not be written; the log says why."""


@dataclass(frozen=True, kw_only=True)
class Save:
    """What this rank writes of a state, and what the manifest says about it."""

    id: CheckpointId
    part: Part
    folder: str = ""
    """Where all ranks write their parts; empty: this one writes alone."""
    gather: Gather = alone
    epoch: int
    cursor: int
    parent: CheckpointId | None
    extra: Mapping[str, Any]


@dataclass(frozen=True)
class Done:
    id: CheckpointId
    outcome: Outcome
    cost: Cost | None = field(default=None, compare=False)
    """None where nothing was written."""


class Saver:
    """Lives as long as the process: a save that a lost world left behind is ended before the next.

    All methods are called by the training thread.
    """

    def __init__(
        self, catalogue: Catalogue, channel: Channel | SoloChannel, retention: Retention
    ) -> None:
        self._catalogue = catalogue
        self._channel = channel
        self._retention = retention
        self._snapshots = Snapshots()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoint")
        self._running: Future[Done] | None = None
        self._hurry = threading.Event()
        """Somebody waits: a question that is not answered is not asked again."""
        self._over = threading.Event()
        """The world of the running save is over: its data is not worth a question."""

    @property
    def is_busy(self) -> bool:
        return self._running is not None

    def start(self, save: Save) -> None:
        """Copy the part, and save the copy while training goes on.

        Training waits for the copy alone. A commit that nobody answers is asked for again until
        somebody waits for this save.
        """
        assert self._running is None
        before = time.monotonic()
        copied = replace(save, part=self._snapshots.take(save.part))
        stall = time.monotonic() - before
        self._hurry.clear()
        self._over.clear()
        self._running = self._thread.submit(self._save, copied, math.inf, stall)

    def poll(self) -> Done | None:
        """The save that has ended since the last look, if one has."""
        if self._running is None or not self._running.done():
            return None
        return self.wait()

    def wait(self) -> Done | None:
        """End the running save soon: what is written is committed, if the coordinator answers."""
        if self._running is None:
            return None
        self._hurry.set()
        running, self._running = self._running, None
        return running.result()

    def is_over(self) -> bool:
        """Whether the world of the running save has been left behind."""
        return self._over.is_set()

    def hurry(self) -> None:
        """Let the running save end without an answer if there is none: a newer one is due."""
        self._hurry.set()

    def abandon(self) -> None:
        """The world is over, so the running save will not be committed; it is not waited for."""
        self._over.set()
        self._hurry.set()

    def save_now(
        self,
        save: Save,
        *,
        patience_seconds: float,
        check: Callable[[Cost], None] | None = None,
    ) -> Done:
        """Save while training waits; `patience_seconds`: for a coordinator that is away.

        `check` may raise, once the data is written and before it counts; then it is removed.
        """
        assert self._running is None
        self._hurry.clear()
        self._over.clear()
        return self._save(save, patience_seconds, None, check)

    def _save(
        self,
        save: Save,
        patience_seconds: float,
        stall_seconds: float | None,
        check: Callable[[Cost], None] | None = None,
    ) -> Done:
        before, cost = time.monotonic(), None
        try:
            staged = self._stage(save)
            if staged is None:
                return Done(save.id, Outcome.HANDED_OVER)
            seconds = time.monotonic() - before
            size = sum(file.size for file in staged.manifest.files.values())
            cost = Cost(seconds if stall_seconds is None else stall_seconds, seconds, size)
            if check is not None:
                _check(check, cost, staged)
            outcome = self._commit(staged, patience_seconds)
        except CheckpointError as error:
            log.error("%s", error)
            outcome = Outcome.FAILED
        if outcome is Outcome.PUBLISHED:
            self._channel.saved(save.id.world, save.id.step)
            self._prune()
        return Done(save.id, outcome, cost)

    def _prune(self) -> None:
        """The checkpoint is there, whatever becomes of older ones: the next save tries again."""
        try:
            prune(self._catalogue, self._retention)
        except OSError as error:
            log.warning("old checkpoints stay for now: %s", error)

    def _stage(self, save: Save) -> Staged | None:
        """The whole at the rank that has it, once all parts are written; None at the others."""
        folder = save.folder or self._catalogue.new_folder(save.id)
        try:
            written = self._catalogue.write(save.id, folder, save.part)
        except CheckpointError:
            save.gather(None)
            raise
        whole = save.gather(written)
        if whole is None:
            return None
        return self._catalogue.describe(
            save.id,
            whole,
            epoch=save.epoch,
            cursor=save.cursor,
            parent=save.parent,
            extra=save.extra,
        )

    def _commit(self, staged: Staged, patience_seconds: float) -> Outcome:
        accepted = self._ask(staged, patience_seconds)
        if accepted:
            staged.publish()
            return Outcome.PUBLISHED
        staged.discard()
        if accepted is not None:
            return Outcome.REFUSED
        log.warning(
            "checkpoint %s stays uncommitted: the coordinator does not answer", staged.manifest.id
        )
        return Outcome.UNANSWERED

    def _ask(self, staged: Staged, patience_seconds: float) -> bool | None:
        id = staged.manifest.id
        give_up = time.monotonic() + patience_seconds
        while not self._over.is_set():
            answer = self._channel.ask_commit(id.world, id.step, timeout_seconds=ANSWER_SECONDS)
            if answer is not None or time.monotonic() >= give_up:
                return answer
            if self._hurry.wait(RETRY_SECONDS):
                return None
        return None


def _check(check: Callable[[Cost], None], cost: Cost, staged: Staged) -> None:
    try:
        check(cost)
    except BaseException:
        staged.discard()
        raise
