"""`spotrain sweep`."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from spotrain.cli import jobs, output, sweep_watch
from spotrain.cli.errors import UserError
from spotrain.cli.interrupts import NO_JOB, told
from spotrain.cli.options import Context, Format, Local, Namespace, Output
from spotrain.cli.order import Order
from spotrain.cli.submit_options import DryRun, takes_order
from spotrain.cli.sweep_acts import Act, asked_act, sort_words
from spotrain.cli.sweep_changes import DELETE, RESUME, STOP, Change, change_all, limit_to
from spotrain.cli.sweep_results import changing_results, ordered, results_of, tabulate
from spotrain.cli.sweep_sending import halt, send_sweep
from spotrain.cli.sweep_template import opened_template, read_combinations
from spotrain.cli.sweeping import existing, goes_on, watched
from spotrain.cli.usage import typed_options
from spotrain.cli.wording import count
from spotrain.next_command import next_command

MOST_JOBS: Final = 100
"""Of a sweep, unless one asks for more: each is a job with nodes of its own."""
CHANGES: Final = {Act.stop: STOP, Act.resume: RESUME, Act.delete: DELETE}


@takes_order
def command(
    ctx: typer.Context,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME|FILE [KEY=VALUES]... [-- SCRIPT [ARGUMENTS]...]",
            help="A name for the sweep, or a job file; what to try; what each worker runs. "
            "The name alone shows what has come of it.",
        ),
    ],
    gpus: Annotated[int | None, typer.Option(min=1, help="GPUs of each job.")] = None,
    at_most: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="JOBS",
            help="So many hold nodes at once; default: as before, or any. With --local so many run "
            "at once, and this command sends one after the other; default: 1.",
        ),
    ] = None,
    list_file: Annotated[
        Path | None,
        typer.Option("--list", metavar="FILE", help="KEY=VALUES a line instead of all at once."),
    ] = None,
    max_jobs: Annotated[
        int, typer.Option(min=1, metavar="JOBS", help="More are taken for a slip.")
    ] = MOST_JOBS,
    sort: Annotated[
        str, typer.Option(metavar="METRIC", help="Lowest first; -METRIC: highest first.")
    ] = "",
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Show it until all have ended; 1 if one failed.")
    ] = False,
    stop: Annotated[bool, typer.Option("--stop", help="Suspend all jobs of the sweep.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Let all of them go on.")] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Remove all of them.")] = False,
    *,
    order: Order,
    dry_run: DryRun = False,
    context: Context = None,
    namespace: Namespace = None,
    local: Local = False,
    form: Output = Format.table,
) -> None:
    """One job for each combination of values, and what came of each.

    KEY=VALUES is Hydra's grammar: lr=0.1,0.01 or layers='range(2,5)' or tag="'a,b',c". In the
    script's arguments {KEY} becomes the value and {name} the job's name; a key that stands nowhere
    is appended as --KEY=VALUE. Jobs are named by what they run and try: the same sweep sent again
    sends what is missing, and more values add jobs.
    """
    asked = sort_words(words)
    act = asked_act(asked, typed_options(ctx))
    if follow and form is not Format.table:
        raise UserError(f"--follow with -o {form}: what is followed is a table; leave out one.")
    sweep = asked.what
    if act is Act.send:
        order = replace(order, gpus=gpus or order.gpus)
        combinations = read_combinations(asked, list_file, most=max_jobs)
        place = opened_template(asked, order, context=context, namespace=namespace, local=local)
        with told(NO_JOB), place as template:
            send_sweep(
                template, combinations, at_most=at_most, dry_run=dry_run, local=local, form=form
            )
        if dry_run or not follow:
            return
        act, sweep = Act.follow, template.sweep
    with jobs.opened(context=context, namespace=namespace, local=local) as opened:
        if act is Act.follow:
            _follow(sweep, opened, sort, local=local)
        elif act is Act.show:
            _show(sweep, opened, sort, form, local=local)
        else:
            change = limit_to(at_most) if at_most else CHANGES[act]
            _change(change, sweep, opened, dry_run=dry_run, local=local)


def _follow(sweep: str, opened: jobs.Jobs, sort: str, *, local: bool) -> None:
    with told(goes_on(sweep, local=local)):
        changes = watched(sweep, opened, local=local)
        sweep_watch.follow(sweep, changing_results(changes), sort=sort, local=local)


def _show(sweep: str, opened: jobs.Jobs, sort: str, form: Format, *, local: bool) -> None:
    with told(goes_on(sweep, local=local)):
        found = results_of(existing(sweep, opened, local=local))
        found = ordered(found, sort) if sort else found
        now = datetime.now(UTC)
        output.answer(
            [each.summary(now) for each in found],
            form,
            names=[each.seen.name for each in found],
            table=lambda: tabulate(found, sort=sort),
        )


def _change(change: Change, sweep: str, opened: jobs.Jobs, *, dry_run: bool, local: bool) -> None:
    with told(f"no job of sweep {sweep} was touched."):
        found = existing(sweep, opened, local=local)
        if dry_run:
            touched = change.touched(found)
            for each in touched:
                print(f"would {change.verb} {each.name}")
            output.say(f"{count(len(touched), 'job')} of sweep {sweep}; nothing was done.")
            return
        if local and change in (STOP, DELETE):
            halt(sweep, opened)
            found = existing(sweep, opened, local=local)  # with what was on its way
        changed = change_all(change, sweep, found, opened)
    after = ""
    if change is not DELETE:
        other = ("--resume",) if change is STOP else ()
        after = f". Next: {next_command('sweep', sweep, *other, local=local)}"
    if changed:
        print(f"{change.saying} {count(changed, 'job')} of sweep {sweep}{after}")
    else:
        print(f"no job of sweep {sweep} is still to be {change.past}: nothing to do{after}")
