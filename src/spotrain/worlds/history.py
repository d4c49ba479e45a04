"""The history of a job's worlds: when each trained, why it ended, what the change cost. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from spotrain.worlds.state import Checkpoint, Reason, World


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """One world's record. Times are seconds of the coordinator's clock, steps are global."""

    number: int
    members: tuple[str, ...]
    published_at: float
    first_step: int | None = None
    """The step that it started from (restored, or held in memory)."""
    first_step_at: float | None = None
    """When its first own step was reported."""
    last_step: int | None = None
    last_step_at: float | None = None
    samples_per_step: int = 0
    committed_step: int | None = None
    ended_at: float | None = None
    """When its end was decided: the notice, the growth, the loss."""
    reason: Reason | None = None
    message: str = ""
    """What is known of its end beyond the reason."""
    pause_seconds: float | None = None
    """From its end's decision to the first step of the next world."""
    steps_lost: int | None = None
    """Steps done in it that the next world had to do again."""
    save_stall_seconds: float = 0.0
    """Training stood still for checkpoints so long."""
    data_wait_seconds: float = 0.0
    """Rank 0 waited so long for its data."""

    @property
    def size(self) -> int:
        return len(self.members)


History = tuple[Chapter, ...]
"""The newest worlds, oldest first."""
MAX_CHAPTERS: Final = 100
"""Of a job, which may live for weeks and lose a node every few minutes. Totals over its whole life
are counted where they are told (in the job's status, in the controller's counters), not here."""


def publish(history: History, world: World, now: float) -> History:
    """One that is adopted by who has told of it already goes on in its chapter."""
    if history and history[-1].number == world.number:
        return history
    chapter = Chapter(number=world.number, members=world.ids, published_at=now)
    return _newest((*history, chapter))


def end(history: History, number: int, reason: Reason, now: float, message: str = "") -> History:
    """A later and graver reason replaces the first one; the time stays that of the first."""

    def ended(chapter: Chapter) -> Chapter:
        at = chapter.ended_at if chapter.ended_at is not None else now
        return replace(chapter, ended_at=at, reason=reason, message=message)

    return _change(history, number, ended)


def commit(history: History, checkpoint: Checkpoint, now: float) -> History:
    """A checkpoint also tells how far its world has come: reports are few, and the last steps of a
    job come without one."""

    def committed(chapter: Chapter) -> Chapter:
        chapter = replace(chapter, committed_step=checkpoint.step)
        if chapter.last_step is None or checkpoint.step <= chapter.last_step:
            return chapter
        return replace(chapter, last_step=checkpoint.step, last_step_at=now)

    return _change(history, checkpoint.world, committed)


def progress(
    history: History,
    *,
    number: int,
    step: int,
    samples: int,
    restored_step: int | None,
    previous_step: int | None,
    now: float,
    save_stall_seconds: float = 0.0,
    data_wait_seconds: float = 0.0,
) -> History:
    """A report of rank 0; `restored_step` comes with the first one of a world only."""

    def advanced(chapter: Chapter) -> Chapter:
        # The last step of an epoch is smaller, and a report between two steps has none at all.
        most = max(samples, chapter.samples_per_step)
        chapter = replace(
            chapter,
            last_step=step,
            last_step_at=now,
            samples_per_step=most,
            save_stall_seconds=max(chapter.save_stall_seconds, save_stall_seconds),
            data_wait_seconds=max(chapter.data_wait_seconds, data_wait_seconds),
        )
        if chapter.first_step_at is not None:
            return chapter
        # A world that was adopted is known from its first report on.
        first_step = restored_step if restored_step is not None else step
        return replace(chapter, first_step=first_step, first_step_at=now)

    history = _change(history, number, advanced)
    if restored_step is None:
        return history
    return _settle(history, number, restored_step, previous_step, now)


def next_step_due(history: History, seconds: float) -> float | None:
    """When the present world must have done its next step; None: nobody can say.

    Before the job's first step, which may wait for a compiler or a download, there is no deadline.
    """
    if not history or history[-1].ended_at is not None:
        return None
    if all(chapter.first_step_at is None for chapter in history):
        return None
    last = history[-1]
    told_at = last.last_step_at if last.last_step_at is not None else last.published_at
    return max(last.published_at, told_at) + seconds


def _settle(
    history: History, number: int, restored: int, previous: int | None, now: float
) -> History:
    """The first step of world `number` tells what the change before it cost.

    Worlds that ended before their first step are part of the same pause.
    """
    before = [c for c in history if c.number < number and c.last_step is not None]
    if not before:
        return history
    last = before[-1]
    if last.pause_seconds is not None or last.ended_at is None:
        return history
    # Reports come twice a second; a survivor knows how far the world really came, and it came so
    # far about when its end was decided. One that hung had come no further for a long time.
    done = max(last.last_step or 0, previous if previous is not None else 0)
    told_at = last.last_step_at or last.ended_at
    hung = last.reason is Reason.STALL
    cost = replace(
        last,
        last_step=done,
        last_step_at=told_at if hung else max(told_at, last.ended_at),
        pause_seconds=now - last.ended_at,
        steps_lost=max(0, done - restored),
    )
    return _change(history, last.number, lambda _: cost)


def _newest(history: History) -> History:
    """What is kept. The world that trained last is never forgotten: it says how far the job has
    come, and the next step tells what the change after it cost."""
    older, newest = history[:-MAX_CHAPTERS], history[-MAX_CHAPTERS:]
    if any(chapter.last_step is not None for chapter in newest):
        return newest
    trained = [chapter for chapter in older if chapter.last_step is not None]
    return (*trained[-1:], *newest)


def _change(history: History, number: int, change: Callable[[Chapter], Chapter]) -> History:
    return tuple(change(c) if c.number == number else c for c in history)
