"""`spotrain sweep`."""

from pathlib import Path
from typing import Annotated, Final

import typer

from spotrain.cli import jobs, output, sweep_watch
from spotrain.cli.errors import UserError
from spotrain.cli.interrupts import NO_JOB, told
from spotrain.cli.options import Context, Format, Local, Namespace, Output
from spotrain.cli.order import Order
from spotrain.cli.submit_options import (
    BudgetUsd,
    Capacity,
    Code,
    DryRun,
    Env,
    GpuType,
    Image,
    MinGpus,
    PoolNames,
    Secret,
)
from spotrain.cli.sweep_acts import Act, asked_act, sort_words
from spotrain.cli.sweep_changes import DELETE, RESUME, STOP, Change, change_all, limit_to
from spotrain.cli.sweep_results import changing_results, ordered, results_of, tabulate
from spotrain.cli.sweep_sending import halt, send_sweep
from spotrain.cli.sweep_template import opened_template, read_combinations
from spotrain.cli.sweeping import existing, goes_on, watched
from spotrain.cli.wording import command as typed
from spotrain.cli.wording import count

MOST_JOBS: Final = 100
"""Of a sweep, unless one asks for more: each is a job with nodes of its own."""
CHANGES: Final = {Act.stop: STOP, Act.resume: RESUME, Act.delete: DELETE}


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
            min=1, metavar="JOBS", help="So many hold nodes at once; default: as before, or any."
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
    gpu_type: GpuType = None,
    min_gpus: MinGpus = None,
    image: Image = None,
    code: Code = None,
    env: Env = None,
    secret: Secret = None,
    pool: PoolNames = None,
    capacity: Capacity = "spotThenOnDemand",
    budget: BudgetUsd = None,
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
        order = Order(
            gpus=gpus or 1,
            gpu_type=gpu_type,
            min_gpus=min_gpus,
            image=image,
            code=code,
            env=env or (),
            secrets=secret or (),
            pools=pool or (),
            capacity=capacity,
            max_dollars=budget,
        )
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


def typed_options(ctx: typer.Context) -> list[str]:
    """The long names of those that stand in the command line, defaults or not."""
    return [
        next(name for name in each.opts if name.startswith("--"))
        for each in ctx.command.params
        if each.param_type_name == "option"
        and (source := ctx.get_parameter_source(str(each.name)))
        and source.name == "COMMANDLINE"
    ]


def _follow(sweep: str, opened: jobs.Jobs, sort: str, *, local: bool) -> None:
    with told(goes_on(sweep, local=local)):
        changes = watched(sweep, opened, local=local)
        sweep_watch.follow(sweep, changing_results(changes), sort=sort)


def _show(sweep: str, opened: jobs.Jobs, sort: str, form: Format, *, local: bool) -> None:
    with told(goes_on(sweep, local=local)):
        found = results_of(existing(sweep, opened, local=local))
        found = ordered(found, sort) if sort else found
        output.answer(
            [each.summary() for each in found],
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
        after = f". Next: {typed('sweep', sweep, *other, local=local)}"
    print(f"{change.saying} {count(changed, 'job')} of sweep {sweep}{after}")
