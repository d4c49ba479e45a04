"""`spotrain status`."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from spotrain.cli import jobs, live, output
from spotrain.cli.errors import JOB_FAILED
from spotrain.cli.fitted import FactTable
from spotrain.cli.job_text import facts
from spotrain.cli.job_view import JobView, view
from spotrain.cli.options import Context, Format, JobName, Local, Namespace, Output
from spotrain.controller.status import FAILED
from spotrain.next_command import next_command

if TYPE_CHECKING:
    from rich.console import RenderableType


def command(
    name: JobName,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Follow it until it has ended; 1 if it failed.")
    ] = False,
    context: Context = None,
    namespace: Namespace = None,
    local: Local = False,
    form: Output = Format.table,
) -> None:
    """What one job is doing, how far it is, what it cost, and why it waits."""
    with jobs.opened(context=context, namespace=namespace, local=local) as opened:
        if watch:
            watch_to_end(opened, name, local=local)
            return
        seen = view(opened.get(name), local=local)
    output.answer(seen.summary(datetime.now(UTC)), form, names=[name], table=lambda: draw(seen))


def watch_to_end(opened: jobs.Jobs, name: str, *, local: bool) -> None:
    """Show the job until it has ended. Exits with 1 where it failed."""
    views = (view(document, local=local) for document in opened.watch(name))
    last = live.follow(views, draw, until=lambda seen: seen.status.finished)
    tell_end(last, name, local=local)


def tell_end(last: JobView | None, name: str, *, local: bool) -> None:
    """What a job that was followed has come to, `last` as it was last seen. Exits with 1 where it
    failed or is gone."""
    if last is None or not last.status.finished:
        output.say(f"{name} was deleted.")
        raise typer.Exit(JOB_FAILED)
    if last.status.is_true(FAILED):
        output.say(f"{name} failed. Next: {next_command('explain', name, local=local)}")
        raise typer.Exit(JOB_FAILED)


def draw(seen: JobView) -> "RenderableType":
    return FactTable([("job", seen.name), *facts(seen, datetime.now(UTC))])
