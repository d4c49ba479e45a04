"""One interruption of one job: how it is tried, and what is kept of it."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.train.peers.launchers import Launcher
from bench.train.peers.pauses import Change, change_after
from bench.train.peers.team import NeverCame, Team, team

START_TRIES: Final = 3


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Seconds and steps that one interruption has cost; all None if training never went on."""

    case: str
    launcher: str
    round: int
    from_event: float | None = None
    pause: float | None = None
    lost_steps: int | None = None
    never: str = ""
    """Why training did not go on."""

    def to_document(self) -> dict[str, Any]:
        return {k: round(v, 4) if isinstance(v, float) else v for k, v in asdict(self).items()}


def of_change(case: str, launcher: Launcher, number: int, change: Change) -> Trial:
    return Trial(
        case=case,
        launcher=launcher.name,
        round=number,
        from_event=change.from_event,
        pause=change.pause,
        lost_steps=change.lost_steps,
    )


def await_change(
    team: Team, event_at: float, *, size: int, limit: float, case: str, number: int
) -> Trial:
    """The trial that an event has begun, once a world of `size` ranks trains, or never does."""
    try:
        change = team.until(lambda steps: change_after(steps, event_at, size=size), seconds=limit)
    except NeverCame as never:
        why = str(never).splitlines()[0]
        return Trial(case=case, launcher=team.launcher.name, round=number, never=why)
    return of_change(case, team.launcher, number, change)


@contextmanager
def fresh_team(launcher: Launcher, *, max_size: int, size: int) -> Iterator[Team]:
    """A team of `size` workers that trains, in a folder that goes away.

    Raises:
        NeverCame: it did not begin to train, however often it was tried. On a busy machine one
            worker may be so late that torchrun's defaults take it for growth, and lose the job.
    """
    with ExitStack() as kept:
        for tries_left in reversed(range(START_TRIES)):
            with ExitStack() as stack:
                folder = stack.enter_context(TemporaryDirectory(prefix="spotrain-bench-"))
                made = stack.enter_context(team(launcher, Path(folder) / "team", max_size=max_size))
                made.start(*[f"w{number}" for number in range(size)])
                try:
                    made.until_training(size=size, steps=1)
                except NeverCame:
                    if not tries_left:
                        raise
                    continue
                kept.enter_context(stack.pop_all())
                break
        yield made


def try_all(trials: Callable[[], Sequence[Trial]], *, what: str) -> list[Trial]:
    """The trials of a job; none, with a word on it, if that job did not even begin to train."""
    try:
        return list(trials())
    except NeverCame as never:
        print(f"{what} is left out: {str(never).splitlines()[0]}", flush=True)
        return []


def side_by_side(trials: Sequence[Callable[[], Sequence[Trial]]]) -> list[Trial]:
    """Trials that wait most of their time, at once."""
    with ThreadPoolExecutor(max_workers=max(1, len(trials))) as threads:
        running = [threads.submit(trial) for trial in trials]
        return [trial for done in running for trial in done.result()]


def tell_all(trials: list[Trial]) -> list[Trial]:
    for trial in trials:
        tell(trial)
    return trials


def tell(trial: Trial) -> None:
    outcome = trial.never or (
        f"{trial.from_event:.2f} s, pause {trial.pause:.2f} s, {trial.lost_steps} steps lost"
    )
    print(f"round {trial.round}  {trial.case:22} {trial.launcher:12} {outcome}", flush=True)
