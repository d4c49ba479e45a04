"""`spotrain resume`."""

from spotrain.cli import jobs
from spotrain.cli.errors import CONFLICT, UserError
from spotrain.cli.job_view import view
from spotrain.cli.options import Context, JobName, Namespace


def command(name: JobName, context: Context = None, namespace: Namespace = None) -> None:
    """Go on with a stopped job, from its last checkpoint."""
    with jobs.opened(context=context, namespace=namespace) as opened:
        resume(opened, name)
    print(f"resuming {name}. Next: spotrain status {name} --watch")


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
