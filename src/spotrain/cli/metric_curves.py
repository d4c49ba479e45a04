"""What scripts told of their training, as curves, so that jobs without event files have some."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spotrain.ledger.entries import AnyEntry, MetricsEntry

if TYPE_CHECKING:
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

RUN: Final = "ledger"
"""Below the job's own runs: what its script wrote itself stays apart."""


class MetricCurves:
    """Below `folder` a run a job that has told metrics; each update adds what is new."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writers: dict[str, EventFileWriter] = {}
        self._until: dict[str, datetime] = {}

    @property
    def count(self) -> int:
        """Jobs that have one."""
        return len(self._writers)

    def update(self, job: str, entries: Iterable[AnyEntry]) -> None:
        since = self._until.get(job)
        new = [
            entry
            for entry in entries
            if isinstance(entry, MetricsEntry) and (since is None or entry.at > since)
        ]
        for entry in new:
            self._writer(job).add_event(_event(entry))
            self._until[job] = entry.at
        if new:
            self._writer(job).flush()

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()

    def _writer(self, job: str) -> "EventFileWriter":
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        if job not in self._writers:
            self._writers[job] = EventFileWriter(str(self._folder / job / RUN))
        return self._writers[job]


def _event(entry: MetricsEntry) -> Any:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    values = [Summary.Value(tag=name, simple_value=value) for name, value in entry.values.items()]
    return Event(wall_time=entry.at.timestamp(), step=entry.step, summary=Summary(value=values))
