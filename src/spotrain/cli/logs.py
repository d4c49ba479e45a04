"""`spotrain logs`."""

import time
from collections.abc import Iterator
from typing import Annotated, Final

import typer

from spotrain.cli.errors import NOT_FOUND, UserError
from spotrain.cli.log_sources import Line, local_lines, window_of
from spotrain.cli.options import Context, JobName, Local, Namespace

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

    The archive keeps it when pods, nodes and the job itself are gone. Each line begins with the
    number of its worker, unless one worker is asked for.
    """
    if local and world is not None:
        raise UserError("--world: on this machine lines carry no time; leave it out.")
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
    worker: int | None = None,
    world: int | None = None,
    follow: bool = False,
) -> Iterator[Line]:
    """In time order; with `follow` until the job has ended. Raises UserError."""
    if local:
        return local_lines(name, worker=worker, follow=follow)
    return _archived(context, namespace, name, worker=worker, world=world, follow=follow)


def _archived(
    context: str | None,
    namespace: str | None,
    name: str,
    *,
    worker: int | None,
    world: int | None,
    follow: bool,
) -> Iterator[Line]:
    from spotrain.archive.errors import NotFound
    from spotrain.archive.log_reader import LogQuery
    from spotrain.cli.archive import archive_of
    from spotrain.cli.cluster import connected
    from spotrain.cli.cluster_jobs import ClusterJobs

    with connected(context, namespace) as cluster, archive_of(cluster) as archive:
        while True:
            try:
                record = archive.ledger(name)
                break
            except NotFound as error:
                if not follow:
                    raise UserError(str(error), exit_code=NOT_FOUND) from None
                ClusterJobs(cluster).get(name)  # it is there: the archive will hear of it
                time.sleep(LOOK_SECONDS)
        since, until = window_of(record, world) if world is not None else ("", "")
        query = LogQuery(worker=worker, since=since, until=until)
        for line in archive.logs(name, record.job.uid, query, follow=follow and not until):
            yield Line(line.worker, line.line)
