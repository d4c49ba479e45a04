"""What scripts told of their training, as curves, so that jobs without event files have some."""

import io
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from spotrain.cli.growing_file import write_from
from spotrain.ledger.entries import AnyEntry, MetricsEntry

RUN: Final = "ledger"
"""Below the job's own runs: what its script wrote itself stays apart."""
FILE: Final = "events.out.tfevents.spotrain"
"""TensorBoard reads every file with the middle part in its name."""


@dataclass(frozen=True)
class Curve:
    size: int
    """Of the file as far as it is whole."""
    until: datetime
    """Of the newest entry in it."""


class MetricCurves:
    """Below `folder` a run a job that has told metrics; each update adds what is new.

    TensorBoard's own writer is not used: it keeps the error of a full disk for good.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._curves: dict[str, Curve] = {}

    @property
    def count(self) -> int:
        """Jobs that have one."""
        return len(self._curves)

    def update(self, job: str, entries: Iterable[AnyEntry]) -> None:
        """Raises OSError; the next one writes what is missing."""
        drawn = self._curves.get(job)
        new = [
            entry
            for entry in entries
            if isinstance(entry, MetricsEntry) and (drawn is None or entry.at > drawn.until)
        ]
        if not new:
            return
        size = drawn.size if drawn else 0
        data = _records(([] if drawn else [_version()]) + [_event(entry) for entry in new])
        path = self._folder / job / RUN / FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        write_from(path, size, data)
        self._curves[job] = Curve(size + len(data), max(entry.at for entry in new))


def _records(events: Sequence[Any]) -> bytes:
    from tensorboard.summary.writer.record_writer import RecordWriter

    written = io.BytesIO()
    for event in events:
        RecordWriter(written).write(event.SerializeToString())
    return written.getvalue()


def _version() -> Any:
    """What every event file begins with."""
    from tensorboard.compat.proto.event_pb2 import Event

    return Event(wall_time=time.time(), file_version="brain.Event:2")


def _event(entry: MetricsEntry) -> Any:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    values = [Summary.Value(tag=name, simple_value=value) for name, value in entry.values.items()]
    return Event(wall_time=entry.at.timestamp(), step=entry.step, summary=Summary(value=values))
