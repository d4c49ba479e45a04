"""Answers over HTTP: JSON lines in pieces, and errors in one sentence."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from spotrain.archive import json_lines
from spotrain.archive.errors import ArchiveError, NotFound, Refused, Unavailable
from spotrain.archive.file_work import FileWork
from spotrain.archive.log_lines import normalize_time

PIECE: Final = 500
"""Lines that are read from the volume at a time."""
JSON_LINES: Final = "application/jsonl"
_STATUS: Final = {NotFound: 404, Refused: 400, Unavailable: 503}


def answer_error(_request: Request, error: Exception) -> Response:
    if isinstance(error, ArchiveError):
        return JSONResponse({"error": str(error)}, _STATUS.get(type(error), 500))
    return JSONResponse({"error": f"the volume answers: {error}"}, 503)


def answer_lines(documents: Iterable[Mapping[str, Any]]) -> Response:
    """What is in memory already."""
    return Response(b"".join(map(json_lines.encode, documents)), media_type=JSON_LINES)


async def answer_pieces(work: FileWork, documents: Iterator[Mapping[str, Any]]) -> Response:
    """What is read from the volume as it is sent. The first piece comes before the status, so that
    what cannot be read at all is an error, and not an empty answer."""
    first = await work.run(encode_piece, documents, PIECE)

    async def pieces() -> AsyncIterator[bytes]:
        piece = first
        while piece:
            yield piece
            piece = await work.run(encode_piece, documents, PIECE)

    return StreamingResponse(pieces(), media_type=JSON_LINES)


def answer_one_by_one(
    work: FileWork, documents: Iterator[Mapping[str, Any]], *, patience: float
) -> Response:
    """Each sent as soon as it is there."""

    async def pieces() -> AsyncIterator[bytes]:
        while piece := await work.run(encode_piece, documents, 1, patience=patience):
            yield piece

    return StreamingResponse(pieces(), media_type=JSON_LINES)


def encode_piece(documents: Iterator[Mapping[str, Any]], size: int) -> bytes:
    return b"".join(map(json_lines.encode, islice(documents, size)))


def read_time(request: Request, name: str) -> datetime | None:
    """Raises Refused."""
    text = request.query_params.get(name, "")
    return datetime.fromisoformat(_moment(name, text)[:26] + "+00:00") if text else None


def read_moment(request: Request, name: str) -> str:
    """As `LogLine.at` has it; empty: none is given. Raises Refused."""
    text = request.query_params.get(name, "")
    return _moment(name, text) if text else ""


def _moment(name: str, text: str) -> str:
    # A plus that was not encoded arrives as a space.
    if not (at := normalize_time(text.replace(" ", "+"))):
        raise Refused(f"{name}={text[:40]!r} is no time; give one such as 2026-08-01T12:00:00Z.")
    return at


def read_number(request: Request, name: str, default: int | None = None) -> int | None:
    """Raises Refused."""
    text = request.query_params.get(name, "")
    if not text:
        return default
    if text.isascii() and text.isdecimal() and len(text) < 16:
        return int(text)
    raise Refused(f"{name}={text[:40]!r} is no whole number; correct it.")


async def sleep_unless_gone(request: Request, seconds: float) -> bool:
    """False: nobody listens any more."""
    await asyncio.sleep(seconds)
    return not await request.is_disconnected()


def encode_health(problems: Mapping[str, str]) -> Response:
    body = json.dumps({"problems": problems}) + "\n"
    return Response(body, 503 if problems else 200, media_type="application/json")
