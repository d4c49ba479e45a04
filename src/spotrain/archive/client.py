"""The archive over HTTP, in the words of `folder.Folder`."""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, BinaryIO, Final

import httpx2

from spotrain.archive.errors import ArchiveError, FellSilent, NotFound, Refused, Unavailable
from spotrain.archive.file_work import PATIENCE_SECONDS, unpacking_seconds
from spotrain.archive.log_reader import EVERYTHING, LogQuery
from spotrain.archive.records import (
    CheckpointRecord,
    EventFile,
    JobLedger,
    JobRecord,
    JobStay,
    LogLine,
    known_entries,
    known_entry,
    read_record,
)
from spotrain.ledger.entries import NodeEntry, StayEntry

TIMEOUT: Final = httpx2.Timeout(30.0, read=PATIENCE_SECONDS + 10.0)
"""Longer than the archive itself waits for its volume: then it says what is wrong."""
SILENT_SECONDS: Final = 60.0
"""Of a log that is followed: the archive shows a sign of life four times as often. One that is too
old to do so is asked again, which costs little."""
SEND_SECONDS: Final = 180.0
"""Until the archive takes the next piece of code."""
SPARE_SECONDS: Final = 60.0
"""Beyond what the archive itself waits for, so that it says what is wrong."""
VERIFY_SECONDS: Final = 3600.0
BASE_URL: Final = "http://archive"
"""Whatever the transport connects to; the archive answers to this name."""
_ERRORS: Final[Mapping[int, type[ArchiveError]]] = {404: NotFound, 400: Refused, 503: Unavailable}


class Client:
    """Every method raises an ArchiveError, or one of httpx2's RequestErrors.

    Usage: `Client(httpx2.Client(transport=..., base_url=client.BASE_URL, timeout=client.TIMEOUT))`.
    """

    def __init__(self, http: httpx2.Client) -> None:
        self._http = http

    def jobs(self) -> list[JobRecord]:
        return [read_record(JobRecord, line) for line in self._lines("/v1/jobs")]

    def job(self, name: str, uid: str = "") -> JobRecord:
        return self.ledger(name, uid).job

    def ledger(self, name: str, uid: str = "") -> JobLedger:
        head, *rest = self._lines(f"/v1/jobs/{name}/ledger", uid=uid)
        job = read_record(JobRecord, head)
        return JobLedger(job=job, entries=tuple(known_entries(rest)))

    def nodes(
        self, since: datetime | None = None, until: datetime | None = None
    ) -> list[NodeEntry]:
        found = known_entries(self._lines("/v1/nodes", **_between(since, until)))
        return [node for node in found if isinstance(node, NodeEntry)]

    def stays(self, since: datetime | None = None, until: datetime | None = None) -> list[JobStay]:
        return [
            JobStay(job=line["job"], job_uid=line["jobUid"], stay=stay)
            for line in self._lines("/v1/stays", **_between(since, until))
            if isinstance(stay := known_entry(line), StayEntry)
        ]

    def logs(
        self, name: str, uid: str = "", query: LogQuery = EVERYTHING, *, follow: bool = False
    ) -> Iterator[LogLine]:
        """With `follow` until the job has ended. Raises FellSilent too: ask again from there on."""
        asked = {"uid": uid, "since": query.since, "until": query.until}
        asked |= {"worker": "" if query.worker is None else str(query.worker)}
        flag = "1" if follow else ""
        asked |= {"follow": flag, "beats": flag}
        timeout = httpx2.Timeout(TIMEOUT.connect, read=SILENT_SECONDS) if follow else TIMEOUT
        try:
            for line in self._stream("GET", f"/v1/jobs/{name}/logs", asked, timeout):
                yield read_record(LogLine, line)
        except httpx2.ReadTimeout:
            if not follow:
                raise
            raise FellSilent(f"the archive has told nothing for {SILENT_SECONDS:g} s") from None

    def has_code(self, sha256: str) -> bool:
        response = self._http.head(f"/v1/code/{sha256}")
        if response.status_code != 404:
            _raise_for(response)
        return response.is_success

    def send_code(self, sha256: str, packed: BinaryIO) -> None:
        """A .tar.gz with that SHA-256; sent once more it is taken for what is there."""
        begin = packed.tell()
        size = packed.seek(0, os.SEEK_END) - begin
        packed.seek(begin)
        patience = unpacking_seconds(size) + SPARE_SECONDS
        timeout = httpx2.Timeout(TIMEOUT.connect, read=patience, write=SEND_SECONDS)
        _raise_for(self._http.put(f"/v1/code/{sha256}", content=packed, timeout=timeout))

    def checkpoints(self, output: str) -> list[CheckpointRecord]:
        lines = self._lines("/v1/checkpoints", output=output)
        return [read_record(CheckpointRecord, line) for line in lines]

    def verify_checkpoints(self, output: str) -> Iterator[CheckpointRecord]:
        """Each as soon as it is read."""
        timeout = httpx2.Timeout(TIMEOUT.connect, read=VERIFY_SECONDS)
        for line in self._stream("POST", "/v1/checkpoints/verify", {"output": output}, timeout):
            yield read_record(CheckpointRecord, line)

    def prune_checkpoints(self, output: str, keep: int) -> list[str]:
        """Ids of those that are gone now."""
        asked = {"output": output, "keep": str(keep)}
        timeout = httpx2.Timeout(TIMEOUT.connect, read=VERIFY_SECONDS)
        found = self._stream("POST", "/v1/checkpoints/prune", asked, timeout)
        return [line["id"] for line in found]

    def event_files(self, output: str) -> list[EventFile]:
        lines = self._lines("/v1/events", output=output)
        return [read_record(EventFile, line) for line in lines]

    def event_bytes(self, output: str, path: str, begin: int) -> bytes:
        """Some of them, from `begin` on; empty: there are no more."""
        asked = {"output": output, "path": path, "begin": str(begin)}
        response = self._http.get("/v1/events/content", params=asked)
        _raise_for(response)
        return response.content

    def problems(self) -> dict[str, str]:
        """Part of the archive -> what is wrong with it; empty: nothing."""
        found: dict[str, str] = self._http.get("/healthz").json()["problems"]
        return found

    def _lines(self, path: str, **asked: str) -> list[dict[str, Any]]:
        return list(self._stream("GET", path, asked, TIMEOUT))

    def _stream(
        self, method: str, path: str, asked: Mapping[str, str], timeout: httpx2.Timeout
    ) -> Iterator[dict[str, Any]]:
        given = {name: value for name, value in asked.items() if value}
        stream = self._http.stream(method, path, params=given, timeout=timeout)
        with stream as response:
            if response.is_error:
                response.read()
                _raise_for(response)
            for line in response.iter_lines():
                if line:  # an empty one is a sign of life
                    yield json.loads(line)


def _between(since: datetime | None, until: datetime | None) -> dict[str, str]:
    given = {"since": since, "until": until}
    return {name: moment.isoformat() for name, moment in given.items() if moment}


def _raise_for(response: httpx2.Response) -> None:
    if response.is_success:
        return
    said = response.text[:200]
    with contextlib.suppress(ValueError, KeyError, TypeError):
        said = response.json()["error"]
    raise _ERRORS.get(response.status_code, ArchiveError)(
        said or f"the archive answers {response.status_code}"
    )
