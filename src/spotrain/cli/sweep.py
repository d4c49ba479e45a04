"""`spotrain sweep`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from spotrain.cli import jobs, output, sweep_watch
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
from spotrain.cli.sweep_jobs import Member, members
from spotrain.cli.sweep_results import Result, ordered, results_of, tabulate
from spotrain.cli.sweep_template import opened_template, read_combinations
from spotrain.cli.sweeping import Sending, existing
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
        typer.Option(min=1, metavar="JOBS", help="So many hold nodes at once; default: any."),
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
    sweep = asked.what
    if act is Act.send:
        options = (gpus, gpu_type, min_gpus, image, code, env, secret, pool, budget)
        has_options = any(options) or capacity != "spotThenOnDemand"
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
        at_most = at_most or (1 if local else None)  # it is one machine
        with (
            told(NO_JOB),
            opened_template(
                asked,
                order if gpus or (asked.is_file and has_options) else None,
                context=context,
                namespace=namespace,
                local=local,
            ) as template,
        ):
            planned = members(
                template.sweep,
                combinations,
                template.job,
                at_most=at_most,
                code=template.code,
            )
            if dry_run:
                _write(planned, form)
                return
            template.send_code()
            sending = Sending(template.sweep, template.jobs, at_most, local)
            made = sending.send(planned)
        sweep = template.sweep
        if form is Format.table:
            _tell_sent(sending, len(planned))
        else:
            names = [member.name for member in planned]
            output.answer(made, form, names=names, table=lambda: "")
        if not follow:
            return
        act = Act.follow
    shows = act in (Act.show, Act.follow)
    goes_on = f"the jobs of sweep {sweep} go on. Next: {typed('sweep', sweep, local=local)}"
    untouched = f"no job of sweep {sweep} was touched."
    with (
        jobs.opened(context=context, namespace=namespace, local=local) as opened,
        told(goes_on if shows else untouched),
    ):
        if act is Act.follow:
            sweep_watch.follow(sweep, lambda: _look(sweep, opened, local=local), sort=sort)
        elif act is Act.show:
            _show(_look(sweep, opened, local=local), sort, form)
        else:
            change = limit_to(at_most) if at_most else CHANGES[act]
            _change(change, sweep, opened, local=local, dry_run=dry_run)


def typed_options(ctx: typer.Context) -> list[str]:
    """The long names of those that stand in the command line, defaults or not."""
    return [
        next(name for name in each.opts if name.startswith("--"))
        for each in ctx.command.params
        if each.param_type_name == "option"
        and (source := ctx.get_parameter_source(str(each.name)))
        and source.name == "COMMANDLINE"
    ]


def _write(planned: Sequence[Member], form: Format) -> None:
    """Exactly what would be sent, one document after the other."""
    if form is not Format.table:
        documents = [member.document for member in planned]
        output.answer(documents, form, names=[m.name for m in planned], table=lambda: "")
        return
    import yaml

    print(yaml.safe_dump_all([m.document for m in planned], sort_keys=False), end="")


def _tell_sent(sending: Sending, wanted: int) -> None:
    there = wanted - sending.sent
    before = f", {there} were there already" if there else ""
    limit = f", at most {sending.at_most} at once" if sending.at_most else ""
    show = typed("sweep", sending.sweep, local=sending.local)
    print(f"sent {count(sending.sent, 'job')} of {wanted}{before}{limit}. Next: {show}")


def _look(sweep: str, opened: jobs.Jobs, *, local: bool) -> list[Result]:
    return results_of(sweep, existing(sweep, opened, local=local))


def _show(found: Sequence[Result], sort: str, form: Format) -> None:
    found = ordered(found, sort) if sort else found
    output.answer(
        [each.summary() for each in found],
        form,
        names=[each.seen.name for each in found],
        table=lambda: tabulate(found, sort=sort),
    )


def _change(change: Change, sweep: str, opened: jobs.Jobs, *, local: bool, dry_run: bool) -> None:
    found = existing(sweep, opened, local=local)
    if dry_run:
        touched = change.touched(found)
        for each in touched:
            print(f"would {change.verb} {each.name}")
        output.say(f"{count(len(touched), 'job')} of sweep {sweep}; nothing was done.")
        return
    changed = change_all(change, sweep, found, opened)
    after = ""
    if change is not DELETE:
        other = ("--resume",) if change is STOP else ()
        after = f". Next: {typed('sweep', sweep, *other, local=local)}"
    print(f"{change.saying} {count(changed, 'job')} of sweep {sweep}{after}")
