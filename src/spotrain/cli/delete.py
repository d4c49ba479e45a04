"""`spotrain delete`."""

from typing import Annotated

import typer

from spotrain.cli import jobs
from spotrain.cli.options import Context, Local, Namespace, complete_job, refuse_empty


def command(
    ctx: typer.Context,
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME...", help="Names of jobs.", autocompletion=complete_job),
    ],
    context: Context = None,
    namespace: Namespace = None,
    local: Local = False,
) -> None:
    """Remove jobs; what they wrote under output/ stays.

    Their workers are told to leave, and save. If one of the names is unknown, none is removed.
    """
    for name in names:
        refuse_empty(ctx, name)
    with jobs.opened(context=context, namespace=namespace, local=local) as opened:
        for name in names:
            opened.get(name)
        for name in names:
            opened.delete(name)
            print(f"deleted {name}", flush=True)
