"""`spotrain stop`."""

from spotrain.cli import jobs, wording
from spotrain.cli.errors import CONFLICT, UserError
from spotrain.cli.job_view import view
from spotrain.cli.options import Context, JobName, Local, Namespace


def command(
    name: JobName, context: Context = None, namespace: Namespace = None, local: Local = False
) -> None:
    """Suspend a job: it saves, and gives its nodes back."""
    with jobs.opened(context=context, namespace=namespace, local=local) as opened:
        stop(opened, name)
    again = wording.command("resume", name, local=local)
    print(f"stopping {name}: its workers save and leave. Next: {again}")


def stop(opened: jobs.Jobs, name: str) -> None:
    """Raises UserError where the job has ended."""
    seen = view(opened.get(name))
    if seen.status.finished:
        raise UserError(
            f"{name} has ended ({seen.state}): there is nothing to stop.", exit_code=CONFLICT
        )
    opened.patch(name, {"spec": {"suspend": True}})
