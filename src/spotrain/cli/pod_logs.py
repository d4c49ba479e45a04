"""What the pods of a job that are still there have printed, where no archive can be asked."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Thread
from typing import Final

from spotrain import contract
from spotrain.archive.log_lines import LineSplitter, parse_line
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
        reading: dict[str, Thread] = {}
        while True:
            is_over = self._is_over(name)  # asked before: what is printed until then is read
            for source in self._sources(name, uid, query):
                if source.pod_uid not in reading:
                    reading[source.pod_uid] = thread = Thread(
                        target=self._read, args=(source, query, lines), daemon=True
                    )
                    thread.start()
            is_silent = not any(thread.is_alive() for thread in reading.values())
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

    def _read(self, source: Source, query: LogQuery, lines: "Queue[LogLine]") -> None:
        try:
            for line in self._lines_of(source, query, follow=True):
                lines.put(line)
        except UserError:
            return  # the pod, or its node, is gone

    def _lines_of(
        self, source: Source, query: LogQuery, *, follow: bool = False
    ) -> Iterator[LogLine]:
        splitter = LineSplitter()
        for piece in self.cluster.stream_log(source.pod, source.container, follow=follow):
            yield from _wanted(source, splitter.feed(piece), query)
        yield from _wanted(source, splitter.end(), query)


def _wanted(source: Source, texts: list[bytes], query: LogQuery) -> Iterator[LogLine]:
    for text in texts:
        if parsed := parse_line(text):
            at, said = parsed
            line = LogLine(
                at=at, worker=source.worker, pod=source.pod, pod_uid=source.pod_uid, line=said
            )
            if query.wants(line):
                yield line


def _until_quiet(lines: "Queue[LogLine]") -> Iterator[LogLine]:
    """Those that come, until none has for a while."""
    while True:
        try:
            yield lines.get(timeout=LOOK_SECONDS)
        except Empty:
            return
