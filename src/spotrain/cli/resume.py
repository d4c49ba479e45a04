"""`spotrain resume`."""

from spotrain.cli import jobs, wording
from spotrain.cli.errors import CONFLICT, UserError
from spotrain.cli.job_view import view
from spotrain.cli.options import Context, JobName, Local, Namespace


def command(
    name: JobName, context: Context = None, namespace: Namespace = None, local: Local = False
) -> None:
    """Go on with a stopped job, from its last checkpoint."""
    with jobs.opened(context=context, namespace=namespace, local=local) as opened:
        resume(opened, name)
    print(f"resuming {name}. Next: {wording.command('status', name, '--watch', local=local)}")


def resume(opened: jobs.Jobs, name: str) -> None:
    """Raises UserError where the job has ended."""
    seen = view(opened.get(name))
    if seen.status.finished:
        raise UserError(
            f"{name} has ended ({seen.state}) and cannot go on. Submit it under another name; a "
            "script that is given the same output folder goes on from its checkpoint.",
            exit_code=CONFLICT,
        )
    opened.patch(name, {"spec": {"suspend": False}})
