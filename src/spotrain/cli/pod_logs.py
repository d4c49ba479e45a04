"""What the pods of a job that are still there have printed, where no archive can be asked."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Thread
from typing import Final

from spotrain import contract
from spotrain.archive.log_lines import Cursor, LineSplitter, Resumption, parse_line
from spotrain.archive.log_reader import EVERYTHING, LogQuery
from spotrain.archive.records import JobLedger, LogLine
from spotrain.archive.sources import Source, read_pod
from spotrain.cli.cluster import Cluster
from spotrain.cli.cluster_jobs import ClusterJobs
from spotrain.cli.errors import UserError
from spotrain.cli.job_view import view
from spotrain.cli.refusals import NotThere
from spotrain.cli.status_ledger import StatusLedger
from spotrain.kinds import PODS

LOOK_SECONDS: Final = 1.0
"""Between two looks for new pods."""
BEGIN: Final = Cursor()


@dataclass(frozen=True)
class PodLogs:
    """In the words of the archive. Every method raises UserError."""

    cluster: Cluster

    def ledger(self, name: str, uid: str = "") -> JobLedger:
        """As far as the job's own status has it."""
        return StatusLedger([ClusterJobs(self.cluster).get(name)]).ledger(name, uid)

    def logs(
        self, name: str, uid: str = "", query: LogQuery = EVERYTHING, *, follow: bool = False
    ) -> Iterator[LogLine]:
        """In time order; with `follow` as they come, until the job has ended."""
        if follow:
            return self._follow(name, uid, query)
        streams = [self._lines_of(source, query) for source in self._sources(name, uid, query)]
        return heapq.merge(*streams, key=lambda line: line.at)

    def _follow(self, name: str, uid: str, query: LogQuery) -> Iterator[LogLine]:
        lines: Queue[LogLine] = Queue()
        readings: dict[str, _Reading] = {}
        while True:
            is_over = self._is_over(name)  # asked before: what is printed until then is read
            for source in self._sources(name, uid, query):
                reading = readings.setdefault(source.pod_uid, _Reading())
                if reading.may_go_on and not (is_over and reading.has_failed):
                    reading.begin(self, source, query, lines, is_last=is_over)
            is_silent = not any(reading.is_alive for reading in readings.values())
            yield from _until_quiet(lines)
            if is_over and is_silent:
                return

    def _is_over(self, name: str) -> bool:
        try:
            return view(ClusterJobs(self.cluster).get(name)).status.finished
        except NotThere:
            return True

    def _sources(self, name: str, uid: str, query: LogQuery) -> list[Source]:
        labels = f"{contract.LABEL_JOB}={name}"
        found = map(read_pod, self.cluster.list_all(PODS, labels=labels))
        return [
            source
            for source in found
            if source
            and source.has_output
            and uid in ("", source.job_uid)
            and query.worker in (None, source.worker)
        ]

    def _lines_of(self, source: Source, query: LogQuery) -> Iterator[LogLine]:
        return (line for line in self.lines_from(source) if query.wants(line))

    def lines_from(
        self, source: Source, cursor: Cursor = BEGIN, *, follow: bool = False
    ) -> Iterator[LogLine]:
        """Those after the cursor; with `follow` until the container has ended."""
        splitter, resumption = LineSplitter(), Resumption(cursor)
        pieces = self.cluster.stream_log(
            source.pod, source.container, follow=follow, since=cursor.since
        )
        for piece in pieces:
            yield from _new(source, splitter.feed(piece), resumption)
        yield from _new(source, splitter.end(), resumption)


class _Reading:
    """The log of one pod that is followed, in a thread, and once more from where it broke off."""

    def __init__(self) -> None:
        self._cursor = BEGIN
        self._thread: Thread | None = None
        self._is_whole = False
        self._is_last = False
        """Nothing comes after it: a pod that lives on beside its worker's container would be read
        for ever."""
        self.has_failed = False
        """The last time."""

    @property
    def is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def may_go_on(self) -> bool:
        """Nobody reads it, and it has not come to its end."""
        return not self.is_alive and not self._is_whole and not self._is_last

    def begin(
        self,
        logs: PodLogs,
        source: Source,
        query: LogQuery,
        lines: Queue[LogLine],
        *,
        is_last: bool,
    ) -> None:
        self._is_last = is_last
        self._thread = Thread(target=self._read, args=(logs, source, query, lines), daemon=True)
        self._thread.start()

    def _read(self, logs: PodLogs, source: Source, query: LogQuery, lines: Queue[LogLine]) -> None:
        try:
            for line in logs.lines_from(source, self._cursor, follow=True):
                self._cursor = self._cursor.advance(line.at)
                if query.wants(line):
                    lines.put(line)
            # What ends while its container runs was cut off, and so may be what comes after it.
            self._is_whole, self.has_failed = source.is_over, False
        except UserError:
            self.has_failed = True  # the pod, its node or the way to it is gone, or it was silent


def _new(source: Source, texts: list[bytes], resumption: Resumption) -> Iterator[LogLine]:
    for text in texts:
        parsed = parse_line(text)
        if parsed and resumption.is_new(parsed[0]):
            at, said = parsed
            yield LogLine(
                at=at, worker=source.worker, pod=source.pod, pod_uid=source.pod_uid, line=said
            )


def _until_quiet(lines: "Queue[LogLine]") -> Iterator[LogLine]:
    """Those that come, until none has for a while."""
    while True:
        try:
            yield lines.get(timeout=LOOK_SECONDS)
        except Empty:
            return
