"""Options that many verbs have, each with one name and one help."""

from enum import StrEnum
from typing import Annotated

import typer

from spotrain import contract


def complete_job(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of jobs, for the shell."""
    from spotrain.cli.completion import names_of_jobs

    given = ctx.params
    names = names_of_jobs(
        context=given.get("context"),
        namespace=given.get("namespace"),
        local=bool(given.get("local")),
    )
    return sorted(name for name in names if name.startswith(incomplete))


def refuse_empty(ctx: typer.Context, name: str | None) -> str | None:
    """A script's unset variable, which to the API server would mean all jobs."""
    from spotrain.cli.errors import UserError

    if name is not None and not name.strip() and not ctx.resilient_parsing:
        raise UserError(f"NAME is {name!r}: give the name of a job; spotrain list shows them.")
    return name


JobName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="Name of the job.",
        autocompletion=complete_job,
        callback=refuse_empty,
    ),
]
NewName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the job, yet unused.")]
Context = Annotated[
    str | None,
    typer.Option(
        "--context",
        envvar="SPOTRAIN_CONTEXT",
        help="Context of the kubeconfig; default: its current one.",
    ),
]
Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        "-n",
        envvar="SPOTRAIN_NAMESPACE",
        help=f"Where the jobs are; default: the context's, else {contract.JOB_NAMESPACE}.",
    ),
]
Local = Annotated[
    bool, typer.Option("--local", help="The jobs on this machine instead of a cluster's.")
]

AskCloud = Annotated[
    bool,
    typer.Option(
        "--history/--no-history",
        help="Ask the cloud what spot cost at the time, with your own credentials.",
    ),
]


class Format(StrEnum):
    """How an answer is written to stdout."""

    table = "table"
    json = "json"
    yaml = "yaml"
    name = "name"


Output = Annotated[
    Format,
    typer.Option("--output", "-o", help="Form of the answer; all but table are for scripts."),
]
