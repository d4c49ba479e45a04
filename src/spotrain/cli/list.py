"""`spotrain list`."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spotrain.cli import jobs, output, wording
from spotrain.cli.job_view import JobView, view
from spotrain.cli.options import Context, Format, Local, Namespace, Output

if TYPE_CHECKING:
    from rich.console import RenderableType


def command(
    context: Context = None,
    namespace: Namespace = None,
    local: Local = False,
    form: Output = Format.table,
) -> None:
    """The jobs: what each is doing, and how far it is."""
    with jobs.opened(context=context, namespace=namespace, local=local) as opened:
        found = sorted(map(view, opened.list()), key=lambda each: each.created_at)
    if not found and form is Format.table:
        output.say("There are no jobs. spotrain submit --help tells how to make one.")
        return
    output.answer(
        [each.summary() for each in found],
        form,
        names=[each.name for each in found],
        table=lambda: tabulate(found, datetime.now(UTC)),
    )


def tabulate(found: Sequence[JobView], now: datetime) -> "RenderableType":
    """One line a job, the newest last, where the eye is."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("job", overflow="fold")
    table.add_column("state", no_wrap=True)
    table.add_column("workers", justify="right", no_wrap=True)
    table.add_column("gpu", no_wrap=True)
    table.add_column("step", justify="right", no_wrap=True)
    table.add_column("steps/s", justify="right", no_wrap=True)
    table.add_column("cost", justify="right", no_wrap=True)
    table.add_column("age", justify="right", no_wrap=True)
    for each in found:
        wanted = f"/{each.job.replicas}" if each.job else ""
        table.add_row(
            each.name,
            each.state,
            f"{each.status.workers.ready}{wanted}",
            (each.job.placement.gpu if each.job else None) or "",
            f"{each.status.progress.step:,}" if each.status.progress else "",
            wording.rate(each.steps_per_second),
            wording.dollars(each.usd),
            wording.span((now - each.created_at).total_seconds()),
        )
    return table
