"""Interrupting a job for real, and watching what becomes of it."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from spotrain.cli import output
from spotrain.cli.drill_plan import Strike, has_ended, steady_world, unsteady
from spotrain.cli.drill_verdict import Outcome, goes_on, is_whole, missing, worlds_ended
from spotrain.cli.errors import CONFLICT, JOB_FAILED, UserError
from spotrain.cli.interrupts import ends_tidily
from spotrain.cli.job_view import JobView, view
from spotrain.cli.jobs import Jobs
from spotrain.cli.refusals import NotAnswering
from spotrain.cli.wording import span
from spotrain.controller.status import FAILED
from spotrain.local.interruptions import Manner
from spotrain.next_command import next_command

LOOK_SECONDS: Final = 1.0
"""Between two looks at the job; what is measured stands in its ledger, so none is missed."""


Check = Callable[[], None]


class Ground(Protocol):
    """Where a job is interrupted, and by whom."""

    local: bool
    """On this machine."""

    @property
    def jobs(self) -> Jobs: ...

    def plan(self, manner: Manner, seen: JobView, index: int | None) -> Strike:
        """Whom it hits; `index`: of the worker, None is the one with the highest number.

        Raises:
            UserError: there is no such worker, or this person may not.
        """

    def struck(self, strike: Strike) -> AbstractContextManager[Check]:
        """Interrupts; on leaving, however that comes, what is not to stay is undone. What it
        enters with raises UserError if the interruption itself has failed."""

    def usd_per_hour(self, seen: JobView) -> float | None:
        """What the job's nodes cost together; None: nobody has named a price."""


def nothing_to_check() -> None:
    """Of an interruption that was done when it was granted."""


@dataclass(frozen=True)
class Drill:
    """One job that is interrupted."""

    ground: Ground
    name: str
    worker: int | None
    timeout_seconds: float
    """For one interruption, until the job is whole again."""
    look_seconds: float = LOOK_SECONDS

    def plan(self, manner: Manner) -> Strike:
        """Raises UserError: the job does not train, or cannot be interrupted so."""
        seen = self._look()
        steady_world(seen, local=self.ground.local)
        return self.ground.plan(manner, seen, self.worker)

    def run(self, manner: Manner) -> Outcome:
        """Interrupt the job once it is steady, and follow it until it is whole again."""
        self._until(lambda seen: not unsteady(seen), time.monotonic())
        seen = self._look()
        before = steady_world(seen, local=self.ground.local)
        uid = seen.document["metadata"]["uid"]
        strike = self.ground.plan(manner, seen, self.worker)
        rate = self.ground.usd_per_hour(seen)
        output.say(f"{manner}: {strike.says}.")
        began = time.monotonic()
        with ends_tidily(), self.ground.struck(strike) as check:
            trains = self._until(lambda seen: goes_on(seen, before.number), began, uid, check)
        if trains:
            output.say(f"{manner}: training goes on; the drill ends when all workers train again.")
        whole = trains and self._until(lambda seen: is_whole(seen, before), began, uid)
        seconds = time.monotonic() - began
        last = self._look(began)
        return Outcome(
            strike=strike,
            worlds=worlds_ended(last, before.number),
            usd_per_hour=rate,
            whole_seconds=seconds if whole else None,
            problem="" if whole else self._not_whole(missing(last, strike, before)),
        )

    def _look(self, began: float | None = None) -> JobView:
        """`began`: on the way, where an API server that is away for a while is waited for."""
        while True:
            try:
                return view(self.ground.jobs.get(self.name))
            except NotAnswering:
                if began is None or self._is_over(began):
                    raise
            time.sleep(self.look_seconds)

    def _is_over(self, began: float) -> bool:
        return time.monotonic() - began >= self.timeout_seconds

    def _until(
        self,
        holds: Callable[[JobView], bool],
        began: float,
        uid: str = "",
        check: Check = nothing_to_check,
    ) -> bool:
        """Whether it came to hold before the time was over. `uid`: of the job that was hit. Raises
        UserError where the job has ended or gone."""
        while True:
            seen = self._look(began)
            is_other = bool(uid) and seen.document["metadata"]["uid"] != uid
            if uid and not is_other and seen.status.is_true(FAILED):
                raise UserError(
                    f"{self.name} has failed after the interruption: it did not come back. "
                    f"Next: {next_command('explain', self.name, local=self.ground.local)}",
                    exit_code=JOB_FAILED,
                )
            if has_ended(seen) or is_other:
                raise UserError(
                    f"{self.name} has ended ({seen.state}) before the drill had: nothing can be "
                    "measured of it. Drill a job that trains for longer.",
                    exit_code=CONFLICT,
                )
            if holds(seen):
                return True
            if self._is_over(began):
                return False
            check()
            time.sleep(self.look_seconds)

    def _not_whole(self, why: str) -> str:
        return (
            f"{self.name} was not whole again after {span(self.timeout_seconds)} (--timeout): {why}"
        )
