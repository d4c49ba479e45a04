"""Options that many verbs have, each with one name and one help."""

from enum import StrEnum
from typing import Annotated

import typer

from spotrain import contract

JobName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the job.")]
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
