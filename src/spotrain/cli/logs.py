"""`spotrain logs`."""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spotrain.cli.errors import NOT_FOUND, UserError
from spotrain.cli.log_sources import Line, opened, refuse_worker, window_of
from spotrain.cli.options import Context, JobName, Local, Namespace
from spotrain.cli.output import say

if TYPE_CHECKING:
    from spotrain.archive.records import JobLedger, LogLine
    from spotrain.cli.jobs import Jobs
    from spotrain.cli.log_sources import LogSource

LOOK_SECONDS: Final = 1.0
"""Between two looks whether the archive has heard of a job that was just sent."""


def command(
    name: JobName,
    worker: Annotated[int | None, typer.Option(min=0, help="Only of this worker.")] = None,
    world: Annotated[int | None, typer.Option(min=1, help="Only while this world lived.")] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the job has ended.")
    ] = False,
    context: Context = None,
    namespace: Namespace = None,
    local: Local = False,
) -> None:
    """What the workers of a job have written, from its first moment on.

    The archive keeps it when pods, nodes and the job itself are gone; where it is away, the pods
    that are there still are asked. Each line begins with the
    number of its worker, unless one worker is asked for.
    """
    lines = lines_of(
        name,
        context=context,
        namespace=namespace,
        local=local,
        worker=worker,
        world=world,
        follow=follow,
    )
    for line in lines:
        print(line.text if worker is not None else f"[{line.worker}] {line.text}", flush=follow)


def lines_of(
    name: str,
    *,
    context: str | None,
    namespace: str | None,
    local: bool,
    uid: str = "",
    worker: int | None = None,
    world: int | None = None,
    follow: bool = False,
    tell_of_cluster: Callable[[str], None] = say,
) -> Iterator[Line]:
    """In time order; with `follow` until the job has ended, also past an archive and a cluster that
    do not answer for a while, which is said. Without an archive those of the pods that are
    still there, and that is said.

    `uid`: of the job that is meant; empty: the newest of the name, and whoever follows means the
    one that is there now, if there is one. Raises UserError.
    """
    from spotrain.archive.errors import FellSilent
    from spotrain.cli.archive import ArchiveAway
    from spotrain.cli.outages import Patience
    from spotrain.cli.refusals import NotAllowed, NotAnswering
    from spotrain.cli.shown_lines import ShownLines

    shown = ShownLines()
    archive, cluster = Patience("the archive"), Patience("the cluster", tell_of_cluster)

    def answered(record: "JobLedger") -> None:
        nonlocal uid
        uid = record.job.uid  # another job may have its name when it is asked again
        archive.answered()
        cluster.answered()

    def read(*, of_pods: bool) -> Iterator[Line]:
        with opened(context=context, namespace=namespace, local=local, of_pods=of_pods) as (
            jobs,
            source,
        ):
            lines = _lines(
                jobs,
                source,
                name,
                uid,
                worker=worker,
                world=world,
                follow=follow,
                begin=shown.since,
                answered=answered,
            )
            for line in shown.new(lines):
                yield Line(line.worker, line.line)

    of_pods = False
    while True:
        try:
            yield from read(of_pods=of_pods)
            return
        except FellSilent:
            continue
        except (NotAnswering, NotAllowed) as error:
            if not follow:
                raise
            cluster.wait(error)
        except ArchiveAway as away:
            if archive.has_answered and not follow:
                raise
            try:
                archive.wait(away)
            except ArchiveAway:
                say(f"{away.message} This is what the pods have printed that are still there.")
                of_pods = True


def _lines(
    jobs: "Jobs",
    source: "LogSource",
    name: str,
    uid: str,
    *,
    worker: int | None,
    world: int | None,
    follow: bool,
    begin: str,
    answered: "Callable[[JobLedger], None]",
) -> "Iterator[LogLine]":
    """`begin`: not before it. `answered` hears what the source has told of the job."""
    from spotrain.archive.log_reader import LogQuery

    if follow and not uid:
        uid = _uid_of(jobs, name)
    record = _record(jobs, source, name, uid, wait=follow)
    answered(record)
    since, until = window_of(record, world) if world is not None else ("", "")
    if worker is not None and not follow:  # it may still come to one that is followed
        refuse_worker(record, worker)
    query = LogQuery(worker=worker, since=max(since, begin), until=until)
    yield from source.logs(name, record.job.uid, query, follow=follow and not until)


def _uid_of(jobs: "Jobs", name: str) -> str:
    """Of the job that is there now; empty: there is none."""
    from spotrain.cli.refusals import NotThere

    try:
        return str(jobs.get(name)["metadata"]["uid"])
    except NotThere:
        return ""


def _record(jobs: "Jobs", source: "LogSource", name: str, uid: str, *, wait: bool) -> "JobLedger":
    """What is written down of the job; with `wait`, when something is."""
    from spotrain.archive.errors import NotFound

    while True:
        try:
            return source.ledger(name, uid)
        except NotFound as error:
            if not wait:
                raise UserError(str(error), exit_code=NOT_FOUND) from None
            if jobs.get(name)["metadata"]["uid"] != uid:  # else the archive will hear of it
                raise UserError(str(error), exit_code=NOT_FOUND) from None
            time.sleep(LOOK_SECONDS)
