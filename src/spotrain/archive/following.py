"""A job's log as an answer that goes on while the job does."""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Final

from starlette.requests import Request

from spotrain.archive import answers
from spotrain.archive.file_work import FileWork
from spotrain.archive.folder import LOOK_AGAIN_SECONDS, QUIET_LOOKS, Folder
from spotrain.archive.log_reader import LogQuery
from spotrain.archive.records import JobRecord, to_document

BEAT_SECONDS: Final = 15.0
"""Between two signs of life."""


async def follow(
    request: Request,
    work: FileWork,
    folder: Folder,
    job: JobRecord,
    query: LogQuery,
    *,
    beats: bool = False,
) -> AsyncIterator[bytes]:
    """Until some seconds after the job has ended, or nobody listens any more.

    `beats`: an empty line now and then while there is none of the job, by which a listener tells a
    job that is silent from a connection that is gone.
    """
    reader = folder.log_reader(job, query)
    quiet = 0
    silent_seconds = 0.0
    while quiet < QUIET_LOOKS:
        found = await work.run(reader.read)
        lines: Iterator[Mapping[str, Any]] = map(to_document, found)
        is_quiet = True
        while piece := await work.run(answers.encode_piece, lines, answers.PIECE):
            is_quiet = False
            yield piece
        silent_seconds = silent_seconds + LOOK_AGAIN_SECONDS if is_quiet else 0.0
        if beats and silent_seconds >= BEAT_SECONDS:
            silent_seconds = 0.0
            yield b"\n"
        if is_quiet:
            job = await work.run(folder.job, job.name, job.uid)
        quiet = quiet + 1 if is_quiet and job.outcome else 0
        if not await answers.sleep_unless_gone(request, LOOK_AGAIN_SECONDS):
            return
