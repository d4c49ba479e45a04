"""All that a report is made from. Whatever comes from outside may be hostile; the page escapes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from spotrain.archive.records import CheckpointRecord, JobRecord
from spotrain.ledger.entries import GapEntry, MetricsEntry, WorldEntry
from spotrain.ledger.job_cost import JobCost, Record
from spotrain.ledger.suspensions import SUSPENDED


@dataclass(frozen=True, kw_only=True)
class Story:
    job: JobRecord
    record: Record
    cost: JobCost
    made_at: datetime
    present_state: str = ""
    """Of a job that has not ended, in the word of `spotrain status`; empty: nobody told."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What the job runs, a word and its value."""
    gaps: Sequence[GapEntry] = ()
    metrics: Sequence[MetricsEntry] = ()
    """Oldest first."""
    checkpoints: Sequence[CheckpointRecord] = ()
    remarks: Sequence[str] = ()
    """What could not be found out, and why."""

    @property
    def worlds(self) -> Sequence[WorldEntry]:
        return self.record.worlds

    @property
    def state(self) -> str:
        return self.job.outcome or self.present_state or "in progress"

    @property
    def is_suspended(self) -> bool:
        return self.state == SUSPENDED

    @property
    def has_ended(self) -> bool:
        return bool(self.job.outcome)
