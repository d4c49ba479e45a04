"""`spotrain drill`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from spotrain.cli.errors import JOB_FAILED, UserError
from spotrain.cli.options import Context, Format, JobName, Local, Namespace, Output

if TYPE_CHECKING:
    from spotrain.cli.drill_verdict import Outcome
    from spotrain.cli.drilling import Ground


def command(
    name: JobName,
    kind: Annotated[
        str,
        typer.Option(
            metavar="KIND,...",
            help="One after the other: notice (the worker is evicted), kill (it is gone at once), "
            "node (its node is drained; for administrators).",
        ),
    ] = "notice",
    worker: Annotated[
        int | None, typer.Option(min=0, help="Number of the worker; default: the highest.")
    ] = None,
    max_pause: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0, help="Limit of the time in which nobody trains."),
    ] = None,
    max_steps_lost: Annotated[
        int | None,
        typer.Option(min=0, help="Limit for each interruption; default: 0, and none for kill."),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=1, help="For each, until all workers train again; nodes boot."
        ),
    ] = 900.0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be sent, and interrupt nobody.")
    ] = False,
    real: Annotated[
        bool,
        typer.Option(
            "--real",
            help="Let the cloud take back the worker's spot node, with your own credentials: AWS's "
            "Fault Injection Service, or Compute Engine.",
        ),
    ] = False,
    role: Annotated[
        str | None,
        typer.Option(
            envvar="SPOTRAIN_DRILL_ROLE",
            metavar="ARN",
            help="For --real on AWS: what the stack's output drillRole says.",
        ),
    ] = None,
    context: Context = None,
    namespace: Namespace = None,
    local: Local = False,
    form: Output = Format.table,
) -> None:
    """Interrupt a job for real, and say what that cost and whether it is within limits.

    Exits with 1 where a limit was passed, or where the job did not come back.
    """
    from spotrain.cli.drill_plan import parse_manners
    from spotrain.cli.drill_real import require_notice
    from spotrain.cli.drill_verdict import Limits
    from spotrain.cli.drill_view import show, show_plan
    from spotrain.cli.drilling import Drill

    manners = parse_manners(kind)
    if real and local:
        raise UserError(
            "--real and --local: no cloud takes back a node of this machine; leave one out."
        )
    if real:
        require_notice(manners)
    limits = Limits(max_pause_seconds=max_pause, max_steps_lost=max_steps_lost)
    with _ground(name, context, namespace, role, real=real, local=local) as ground:
        drill = Drill(ground, name, worker, timeout)
        plan = [drill.plan(manner) for manner in manners]
        if dry_run:
            show_plan(plan, form)
            return
        outcomes: list[Outcome] = []
        try:
            for manner in manners:
                outcomes.append(drill.run(manner))
                if outcomes[-1].problem:
                    break
        except UserError:
            if outcomes:  # what was measured is not lost with the rest
                show(name, outcomes, limits, form, local=local, is_whole=False)
            raise
    show(name, outcomes, limits, form, local=local)
    if any(outcome.faults(limits) for outcome in outcomes):
        raise typer.Exit(JOB_FAILED)


@contextmanager
def _ground(
    name: str,
    context: str | None,
    namespace: str | None,
    role: str | None,
    *,
    real: bool,
    local: bool,
) -> "Iterator[Ground]":
    """Where the job is; `real`: its cloud interrupts, AWS by that role. Raises UserError."""
    if local:
        from spotrain.cli.drill_local import OnThisMachine
        from spotrain.cli.local_jobs import LocalJobs, own_shelf

        yield OnThisMachine(LocalJobs(own_shelf()), name)
        return
    from spotrain.cli.cluster import connected
    from spotrain.cli.drill_cluster import InCluster
    from spotrain.cli.drill_real import ByCloud

    with connected(context, namespace) as cluster:
        yield ByCloud(InCluster(cluster), role) if real else InCluster(cluster)
