"""`spotrain submit`."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from spotrain.cli import output
from spotrain.cli.following import follow as follow_job
from spotrain.cli.interrupts import NO_JOB, goes_on, told
from spotrain.cli.job_view import view
from spotrain.cli.logs import lines_of
from spotrain.cli.options import Context, Format, Local, Namespace, NewName, Output
from spotrain.cli.order import Order, prepared, send
from spotrain.cli.outlay import budget_in_words, outlay
from spotrain.cli.script import forgotten_code
from spotrain.cli.status import tell_end
from spotrain.cli.submit_options import DryRun, takes_order
from spotrain.kinds import Object
from spotrain.next_command import next_command


@takes_order
def command(
    name: NewName,
    arguments: Annotated[
        list[str],
        typer.Argument(metavar="-- SCRIPT [ARGUMENTS]...", help="What each worker runs."),
    ],
    gpus: Annotated[int, typer.Option(min=1, help="GPUs of all workers together.")],
    order: Order,
    dry_run: DryRun = False,
    follow: Annotated[
        bool,
        typer.Option("--follow", "-f", help="Stay until it has ended, with logs; 1 if it failed."),
    ] = False,
    context: Context = None,
    namespace: Namespace = None,
    local: Local = False,
    form: Output = Format.table,
) -> None:
    """Train: send a job of so many GPUs, which runs SCRIPT in every worker.

    The script finds the name of its output folder in $SPOTRAIN_OUTPUT; an argument may hold it as
    '$(SPOTRAIN_OUTPUT)'. Results belong there: in a cluster, what --code sends is read-only, and
    the working directory of every job that was sent the same. Ctrl-C before the job is sent leaves
    none; afterwards it goes on.
    """
    order = replace(order, gpus=gpus)
    with (
        told(NO_JOB),
        prepared(order, context=context, namespace=namespace, local=local) as ready,
    ):
        document = ready.job(name, arguments)
        if dry_run:
            write_document(document, name, form)
            return
        ready.send_code()
        made = send(ready.target.jobs, document, local=local)
        with told(goes_on(name, local=local)):
            if form is Format.table:
                watch = next_command("status", name, "--watch", local=local)
                print(f"submitted {name}: {ready.wording}. Next: {watch}", flush=True)
            else:
                write_document(made, name, form)
            if not ready.scripts and (remark := forgotten_code(arguments, Path())):
                output.say(remark)
            if order.max_dollars is not None:
                prices = ready.target.read_prices()
                found = outlay(ready.size, ready.pools, prices, datetime.now(UTC))
                output.say(budget_in_words(name, order.max_dollars, found, local=local))
            if follow:
                seen = ready.target.jobs.watch(name)
                views = (view(document, local=local) for document in seen)
                lines = lines_of(
                    name,
                    context=context,
                    namespace=namespace,
                    local=local,
                    uid=made["metadata"]["uid"],
                    follow=True,
                    tell_of_cluster=lambda _: None,  # whoever watches the job says the same
                )
                tell_end(follow_job(views, lines), name, local=local)


def write_document(document: Object, name: str, form: Format) -> None:
    """A document is no table: people get it as YAML."""
    written = Format.yaml if form is Format.table else form
    output.answer(document, written, names=[name], table=lambda: name)
