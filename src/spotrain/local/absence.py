"""What a job's status is worth when no process runs it: all of it went with the process."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from spotrain.controller.status import NO_PROCESS, JobStatus
from spotrain.controller.world_entries import close
from spotrain.ledger.entries import PauseEntry
from spotrain.worlds import Reason

WENT: Final = "no process ran the job any more"


def without_process(status: JobStatus, since: datetime, *, until: datetime | None) -> JobStatus:
    """The status with the end of what was open in its ledger. From then on nobody asked the job to
    run, which counts as a suspension. `until`: when a process ran it again; None: none does."""
    if status.finished:
        return status
    history = tuple(close(world, Reason.LOSS, WENT, at=since) for world in status.history)
    account = status.ledger
    if account is None:
        return replace(status, history=history)
    stays = tuple(
        replace(stay, ended_at=since, reason=NO_PROCESS) if stay.ended_at is None else stay
        for stay in account.stays
    )
    is_open = bool(account.pauses) and account.pauses[-1].until is None
    gone = () if is_open else (PauseEntry(since=since, until=until),)
    ledger = replace(account, stays=stays, pauses=(*account.pauses, *gone))
    return replace(status, history=history, ledger=ledger)
