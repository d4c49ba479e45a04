"""`spotrain stop`."""

from spotrain.cli import jobs
from spotrain.cli.errors import CONFLICT, UserError
from spotrain.cli.job_view import JobView, view
from spotrain.cli.options import Context, JobName, Local, Namespace
from spotrain.kinds import Object
from spotrain.next_command import next_command


def command(
    name: JobName, context: Context = None, namespace: Namespace = None, local: Local = False
) -> None:
    """Suspend a job: it saves, and gives its nodes back."""
    with jobs.opened(context=context, namespace=namespace, local=local) as opened:
        change = plan_stop(view(opened.get(name)))
        if change:
            opened.patch(name, change)
    again = next_command("resume", name, local=local)
    if change:
        print(f"stopping {name}: its workers save and leave. Next: {again}")
    else:
        print(f"{name} is stopped already: nothing to do. Next: {again}")


def plan_stop(seen: JobView) -> Object:
    """The change of the job's document; empty: it is so already. Raises UserError where the job has
    ended."""
    if seen.status.finished:
        raise UserError(
            f"{seen.name} has ended ({seen.state}): there is nothing to stop.", exit_code=CONFLICT
        )
    return {} if is_stopped(seen) else {"spec": {"suspend": True}}


def is_stopped(seen: JobView) -> bool:
    """Or told to be."""
    return seen.job is not None and seen.job.suspend
