"""`spotrain resume`."""

from math import inf
from typing import Annotated

import typer

from spotrain.cli import jobs, wording
from spotrain.cli.errors import CONFLICT, UserError
from spotrain.cli.job_rows import INTERRUPTED
from spotrain.cli.job_view import JobView, view
from spotrain.cli.options import Context, JobName, Local, Namespace
from spotrain.controller.status import BUDGET_EXCEEDED
from spotrain.kinds import Object
from spotrain.next_command import next_command


def command(
    name: JobName,
    budget: Annotated[
        float | None,
        typer.Option(metavar="USD", help="Most dollars that the job may cost, with those so far."),
    ] = None,
    context: Context = None,
    namespace: Namespace = None,
    local: Local = False,
) -> None:
    """Go on with a stopped job, from its last checkpoint; with a larger budget, if it needs one."""
    with jobs.opened(context=context, namespace=namespace, local=local) as opened:
        seen = view(opened.get(name))
        change = plan_resume(seen, budget, local=local)
        if change:
            opened.patch(name, change)
    watch = next_command("status", name, "--watch", local=local)
    if change and goes_on(seen) and not is_over_budget(seen):
        print(f"{name} goes on, and may cost {wording.dollars(budget)}. Next: {watch}")
    elif change:
        print(f"resuming {name}. Next: {watch}")
    else:
        print(f"{name} is not stopped: nothing to do. Next: {watch}")


def plan_resume(seen: JobView, max_dollars: float | None, *, local: bool = False) -> Object:
    """The change of the job's document; empty: it is so already.

    Raises:
        UserError: the job has ended, or has cost what it may.
    """
    name = seen.name
    if seen.status.finished:
        raise UserError(
            f"{name} has ended ({seen.state}) and cannot go on. Submit it under another name; a "
            "script that is given the same output folder goes on from its checkpoint.",
            exit_code=CONFLICT,
        )
    if max_dollars is None:
        if is_over_budget(seen):
            again = next_command("resume", name, "--budget", "USD", local=local)
            raise UserError(
                f"{name} {_spent(seen)}, and its budget is {_budget(seen)}: it would be suspended "
                f"at once. Next: {again}, with more than it has cost.",
                exit_code=CONFLICT,
            )
        return {} if goes_on(seen) else {"spec": {"suspend": False}}
    if not 0 < max_dollars < inf:
        raise UserError(f"--budget {max_dollars:g}: give an amount of dollars above 0.")
    if (seen.usd or 0.0) >= max_dollars:
        raise UserError(f"--budget {max_dollars:g}: {name} {_spent(seen)}; give more than that.")
    return {"spec": {"suspend": False, "budget": {"maxDollars": max_dollars}}}


def goes_on(seen: JobView) -> bool:
    """Nobody has stopped it, and no process of this machine has left it."""
    return seen.job is not None and not seen.job.suspend and seen.state != INTERRUPTED


def is_over_budget(seen: JobView) -> bool:
    """Will the controller hold it back, as its document is now?"""
    most = seen.job.budget.max_dollars if seen.job else None
    if most is None:
        return False
    told = seen.status.is_true(BUDGET_EXCEEDED)
    # What was raised since is not judged yet.
    is_judged = seen.status.observed_generation == seen.document["metadata"].get("generation")
    return (told and is_judged) or (seen.usd or 0.0) >= most


def _spent(seen: JobView) -> str:
    return f"has cost about {wording.dollars(seen.usd or 0.0)}"


def _budget(seen: JobView) -> str:
    return wording.dollars(seen.job.budget.max_dollars if seen.job else None)
