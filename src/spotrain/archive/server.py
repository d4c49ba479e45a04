"""The archive over HTTP: on loopback, for whoever may forward ports to its pod.

GET  /v1/jobs                                  a line a job
GET  /v1/jobs/{name}/ledger[?uid=]             the job's line, then its entries, oldest first
GET  /v1/jobs/{name}/logs[?uid=&worker=&since=&until=&follow=1&beats=1]
GET  /v1/nodes, /v1/stays [?since=&until=]
HEAD, PUT /v1/code/{sha256}                    a .tar.gz, unpacked in output/code/
GET  /v1/checkpoints?output=                   POST .../verify, .../prune[&keep=]
GET  /v1/events?output=                        TensorBoard's files; .../content?output=&path=&begin=
GET  /healthz
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from spotrain.archive import answers
from spotrain.archive.checkpoints import (
    list_checkpoints,
    prune_checkpoints,
    verify_checkpoints,
)
from spotrain.archive.code import PACKED_BYTES, Upload, has_code
from spotrain.archive.errors import ArchiveError, Refused, Unavailable
from spotrain.archive.event_files import list_event_files, read_event_bytes
from spotrain.archive.file_work import PATIENCE_SECONDS, FileWork, unpacking_seconds
from spotrain.archive.folder import Folder
from spotrain.archive.following import follow
from spotrain.archive.log_reader import LogQuery
from spotrain.archive.records import JOB, to_document
from spotrain.checkpoints.retention import Retention
from spotrain.ledger import entries

HOSTS: Final = ("archive", "localhost", "127.0.0.1")
"""Names under which it is asked; a web page that was led here by DNS uses another."""
VERIFY_SECONDS: Final = 3600.0
"""For one checkpoint: all of its bytes are read."""
UPLOADS: Final = 4
"""At once; each takes up to 100 MB of the volume before it is unpacked."""


@dataclass(frozen=True, kw_only=True)
class Archive:
    """What is served: two volumes, and how they are."""

    folder: Path
    """Ledger and logs."""
    output: Path
    """output/ of the shared volume."""
    problems: Callable[[], Mapping[str, str]]
    """Part -> what is wrong with it now."""


class Service:
    """Usage: `Service(archive).app`, an ASGI application."""

    def __init__(self, archive: Archive, *, patience: float = PATIENCE_SECONDS) -> None:
        """`patience`: seconds for an answer of a volume."""
        self._archive = archive
        self._folder = Folder(archive.folder)
        # Apart, so that a volume that hangs leaves the other one's answers alone.
        self._ledger = FileWork("ledger and logs", patience=patience)
        self._output = FileWork("output/", patience=patience)
        self._unpacking = FileWork("output/", threads=UPLOADS)  # and what was given up removed
        self._reading = FileWork("output/", threads=2)
        """For what takes long by its nature."""
        self._walking = FileWork("output/", threads=2, patience=patience)
        """For folders of any size; verifying may keep all threads of `_reading` for an hour."""
        self._uploads = 0
        self.app = Starlette(
            routes=[
                Route("/healthz", self.health),
                Route("/v1/jobs", self.jobs),
                Route("/v1/jobs/{name}/ledger", self.ledger),
                Route("/v1/jobs/{name}/logs", self.logs),
                Route("/v1/nodes", self.nodes),
                Route("/v1/stays", self.stays),
                Route("/v1/code/{sha256}", self.code, methods=["HEAD"]),
                Route("/v1/code/{sha256}", self.take_code, methods=["PUT"]),
                Route("/v1/checkpoints", self.checkpoints),
                Route("/v1/checkpoints/verify", self.verify, methods=["POST"]),
                Route("/v1/checkpoints/prune", self.prune, methods=["POST"]),
                Route("/v1/events", self.events),
                Route("/v1/events/content", self.event_bytes),
            ],
            middleware=[
                Middleware(TrustedHostMiddleware, allowed_hosts=list(HOSTS)),
                Middleware(NoBrowsers),
            ],
            exception_handlers={
                ArchiveError: answers.answer_error,
                OSError: answers.answer_error,
            },
        )

    async def health(self, _request: Request) -> Response:
        return answers.encode_health(self._archive.problems())

    # --- Ledger ---

    async def jobs(self, _request: Request) -> Response:
        found = await self._ledger.run(self._folder.jobs)
        return answers.answer_lines(map(to_document, found))

    async def ledger(self, request: Request) -> Response:
        name, uid = request.path_params["name"], request.query_params.get("uid", "")
        found = await self._ledger.run(self._folder.ledger, name, uid)
        head = {"kind": JOB, **to_document(found.job)}
        return answers.answer_lines([head, *map(entries.to_document, found.entries)])

    async def nodes(self, request: Request) -> Response:
        since, until = (answers.read_time(request, name) for name in ("since", "until"))
        found = await self._ledger.run(self._folder.nodes, since, until)
        return answers.answer_lines(map(entries.to_document, found))

    async def stays(self, request: Request) -> Response:
        since, until = (answers.read_time(request, name) for name in ("since", "until"))
        found = await self._ledger.run(self._folder.stays, since, until)
        return answers.answer_lines(
            {"job": one.job, "jobUid": one.job_uid, **entries.to_document(one.stay)}
            for one in found
        )

    # --- Logs ---

    async def logs(self, request: Request) -> Response:
        query = LogQuery(
            worker=answers.read_number(request, "worker"),
            since=answers.read_moment(request, "since"),
            until=answers.read_moment(request, "until"),
        )
        name, uid = request.path_params["name"], request.query_params.get("uid", "")
        job = await self._ledger.run(self._folder.job, name, uid)
        reader = self._folder.log_reader(job, query)
        if _asks_for(request, "follow"):
            beats = _asks_for(request, "beats")
            stream = follow(request, self._ledger, self._folder, job, query, beats=beats)
            return StreamingResponse(stream, media_type=answers.JSON_LINES)
        lines = await self._ledger.run(reader.read)
        return await answers.answer_pieces(self._ledger, map(to_document, lines))

    # --- Code ---

    async def code(self, request: Request) -> Response:
        there = await self._output.run(
            has_code, self._archive.output, request.path_params["sha256"]
        )
        return Response(status_code=200 if there else 404)

    async def take_code(self, request: Request) -> Response:
        sha256, output = request.path_params["sha256"], self._archive.output
        if await self._output.run(has_code, output, sha256):
            return Response(status_code=200)
        told = request.headers.get("content-length", "0")
        if told.isdecimal() and int(told) > PACKED_BYTES:
            raise Refused(
                f"{int(told) // 10**6} MB are more than the {PACKED_BYTES // 10**6} MB that are "
                "taken packed; leave data and results out, or build an image."
            )
        with self._one_of_few_uploads():
            upload = await self._output.run(Upload, output, sha256)
            try:
                async for piece in request.stream():
                    await self._output.run(upload.add, piece)
                await self._unpacking.run(upload.publish, patience=unpacking_seconds(upload.size))
            except ClientDisconnect:
                return Response(status_code=400)
            finally:
                await self._output.run(upload.discard)
        return Response(status_code=201)

    @contextlib.contextmanager
    def _one_of_few_uploads(self) -> Iterator[None]:
        if self._uploads >= UPLOADS:
            raise Unavailable(f"{UPLOADS} others are sending code; try again in a minute.")
        self._uploads += 1
        try:
            yield
        finally:
            self._uploads -= 1

    # --- Checkpoints ---

    async def checkpoints(self, request: Request) -> Response:
        found = await self._output.run(list_checkpoints, self._archive.output, _place(request))
        return answers.answer_lines(map(to_document, found))

    async def verify(self, request: Request) -> Response:
        place = _place(request)
        await self._output.run(list_checkpoints, self._archive.output, place)  # is it there?
        found = verify_checkpoints(self._archive.output, place)
        return answers.answer_one_by_one(
            self._reading, map(to_document, found), patience=VERIFY_SECONDS
        )

    async def prune(self, request: Request) -> Response:
        keep = answers.read_number(request, "keep", Retention().keep)
        try:
            retention = Retention(keep=keep or 0)
        except ValueError as error:
            raise Refused(str(error)) from None
        gone = await self._reading.run(
            prune_checkpoints,
            self._archive.output,
            _place(request),
            retention,
            patience=VERIFY_SECONDS,
        )
        return answers.answer_lines({"id": id} for id in gone)

    # --- Event files ---

    async def events(self, request: Request) -> Response:
        found = await self._walking.run(list_event_files, self._archive.output, _place(request))
        return answers.answer_lines(map(to_document, found))

    async def event_bytes(self, request: Request) -> Response:
        path, begin = request.query_params.get("path", ""), answers.read_number(request, "begin", 0)
        asked = (self._archive.output, _place(request), path, begin or 0)
        piece = await self._output.run(read_event_bytes, *asked)
        return Response(piece, media_type="application/octet-stream")


class NoBrowsers:
    """A page in a browser may send requests to a port that is forwarded here, with its origin."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and any(name == b"origin" for name, _ in scope["headers"]):
            refusal = JSONResponse({"error": "the archive serves no web pages."}, 403)
            return await refusal(scope, receive, send)
        await self._app(scope, receive, send)


def _asks_for(request: Request, name: str) -> bool:
    return request.query_params.get(name, "") not in ("", "0", "false")


def _place(request: Request) -> str:
    place = request.query_params.get("output", "")
    if not place:
        raise Refused("output= is missing: give the job's output folder.")
    return place
