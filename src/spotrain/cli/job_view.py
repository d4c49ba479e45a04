"""A job as its researcher sees it: one value out of its document, for tables and for scripts."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from spotrain import contract
from spotrain.cli.job_rows import seconds_left, state_of
from spotrain.controller.status import (
    FAILED,
    RUNNING,
    SUCCEEDED,
    SUSPENDED,
    Condition,
    JobStatus,
)
from spotrain.controller.stored import read_status
from spotrain.job import ElasticJob, InvalidDocument, parse_job
from spotrain.kinds import Object
from spotrain.ledger.account import Record, Totals
from spotrain.ledger.closing import split_record
from spotrain.ledger.entries import WorldEntry
from spotrain.ledger.suspensions import tell_suspensions
from spotrain.ledger.time_split import Split, ettr

TOLD_BY: Final = {FAILED: FAILED, SUCCEEDED: SUCCEEDED, SUSPENDED: SUSPENDED}
"""State -> the condition that says why; in every other state it is Running."""


@dataclass(frozen=True, kw_only=True)
class JobView:
    document: Object
    job: ElasticJob | None
    """None: its spec cannot be read; the condition says what is wrong."""
    status: JobStatus
    is_local: bool = False
    """It is of this machine, whose GPUs are on paper."""

    @property
    def name(self) -> str:
        return str(self.document["metadata"]["name"])

    @property
    def created_at(self) -> datetime:
        return datetime.fromisoformat(self.document["metadata"]["creationTimestamp"])

    @property
    def researcher(self) -> str:
        labels = self.document["metadata"].get("labels") or {}
        return str(labels.get(contract.LABEL_RESEARCHER, ""))

    @property
    def state(self) -> str:
        """One word. A job that is told to stop or go says so until its workers are gone."""
        return state_of(
            self.status.state,
            is_deleted=bool(self.document["metadata"].get("deletionTimestamp")),
            suspend=self.job is not None and self.job.suspend,
        )

    @property
    def why(self) -> Condition | None:
        """The condition that explains the state."""
        return self.status.condition(TOLD_BY.get(self.status.state, RUNNING))

    @property
    def worlds(self) -> tuple[WorldEntry, ...]:
        """The newest ones, oldest first, with what the job's account knows of their ends."""
        account = self.status.ledger
        return tell_suspensions(self.status.history, account.pauses if account else ())

    @property
    def totals(self) -> Totals | None:
        """What the controller has summed up; None where it keeps no account."""
        return self.status.ledger.totals if self.status.ledger else None

    def split(self, now: datetime) -> Split | None:
        """What became of the time in which the job wanted to train, up to now or to its end: the
        totals say it up to when the controller last wrote. None where it keeps no account."""
        account, history = self.status.ledger, self.status.history
        if account is None:
            return None
        sizes = [world.size for world in history]
        least = self.job.min_replicas if self.job else min(sizes, default=1)
        until = self.status.completion_time or now
        return split_record(Record(account=account, worlds=history), until, min_workers=least)

    def ettr(self, now: datetime) -> float | None:
        """The share of that time which went into steps that were kept. None: not known, as nobody
        has told of a step."""
        split = self.split(now)
        return ettr(split, self.status.history) if split else None

    @property
    def usd(self) -> float | None:
        return self.totals.estimated_usd if self.totals else None

    @property
    def steps_per_second(self) -> float | None:
        """Of the present world; None until it has done two."""
        return self._present.steps_per_second if self._present else None

    @property
    def samples_per_second(self) -> float | None:
        world, steps = self._present, self.steps_per_second
        return steps * world.samples_per_step if world and steps else None

    @property
    def seconds_left(self) -> float | None:
        """To the end of training, should it go on as it does now. None: the script does not tell,
        or the present world has not done two steps."""
        progress = self.status.progress
        return seconds_left(progress.steps_left if progress else None, self.steps_per_second)

    @property
    def _present(self) -> WorldEntry | None:
        """None between two worlds, and after the last."""
        history = self.status.history
        newest = history[-1] if history else None
        return newest if newest and newest.ended_at is None else None

    def summary(self, now: datetime) -> Object:
        """What `-o json` and `-o yaml` write; a field that is not known is null."""
        job, status = self.job, self.status
        why = self.why
        return {
            "name": self.name,
            "namespace": self.document["metadata"].get("namespace"),
            "researcher": self.researcher or None,
            "state": self.state,
            "reason": why.reason if why else None,
            "message": why.message if why else None,
            "createdAt": _moment(self.created_at),
            "startedAt": _moment(status.start_time),
            "endedAt": _moment(status.completion_time),
            "gpu": job.placement.gpu if job else None,
            "gpusPerWorker": job.gpus_per_worker if job else None,
            "workers": {
                "ready": status.workers.ready,
                "wanted": job.replicas if job else None,
                "min": job.min_replicas if job else None,
                "max": job.max_replicas if job else None,
            },
            "world": {"number": status.world.number, "size": status.world.size}
            if status.world
            else None,
            "place": {"pool": status.offer.pool, "zone": status.offer.zone}
            if status.offer
            else None,
            "step": status.progress.step if status.progress else None,
            "stepAt": _moment(status.progress.at if status.progress else None),
            "stepsLeft": status.progress.steps_left if status.progress else None,
            "secondsLeft": self.seconds_left,
            "metrics": dict(status.progress.metrics or {}) if status.progress else {},
            "stepsPerSecond": self.steps_per_second,
            "samplesPerSecond": self.samples_per_second,
            "restarts": {
                "failures": status.restarts.failures,
                "disruptions": status.restarts.disruptions,
                "growths": status.restarts.growths,
                "inPlace": status.restarts.in_place,
            },
            "ettr": self.ettr(now),
            "usd": self.usd,
        }


def view(document: Object, *, local: bool = False) -> JobView:
    """Anything that a job's document may hold is seen; nothing of it is refused."""
    try:
        job = parse_job(document)
    except InvalidDocument:
        job = None
    return JobView(
        document=document, job=job, status=read_status(document.get("status")), is_local=local
    )


def _moment(at: datetime | None) -> str | None:
    return at.isoformat().replace("+00:00", "Z") if at else None
