"""`spotrain run`."""

from pathlib import Path
from typing import Annotated

import typer

from spotrain.cli.errors import UserError
from spotrain.cli.job_file import read_job_file, read_pools_file
from spotrain.cli.options import Local


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="One ElasticJob, as YAML.")],
    local: Local = False,
    workdir: Annotated[
        Path, typer.Option(help="Folder that stands for the image's working directory.")
    ] = Path(),
    volume: Annotated[
        list[str] | None,
        typer.Option(
            "--volume",
            metavar="CLAIM=FOLDER",
            help="What a claim stands for. Repeatable; default: efs is .spotrain/efs.",
        ),
    ] = None,
    machines: Annotated[int, typer.Option(min=1, help="Nodes to be had.")] = 8,
    pools: Annotated[
        Path | None, typer.Option(help="A pools ConfigMap; default: one of the job's own GPU.")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of the coordinator; 0: a free one.")
    ] = 0,
) -> None:
    """Play a job file on this machine, with workers as processes, to its end.

    Nodes and GPUs are made up; controller, coordinator and training are the real ones. While it
    runs, every verb with --local sees the job. In a cluster jobs are run by spotrain submit.
    """
    if not local:
        raise UserError(
            "spotrain run plays a job on this machine: add --local. To train in a cluster: "
            "spotrain submit --help."
        )
    document = read_job_file(file)
    text = read_pools_file(pools) if pools else ""
    from spotrain.cli.local_jobs import own_shelf
    from spotrain.cli.local_run import make_settings, run_here

    settings = make_settings(
        own_shelf(),
        workdir=workdir,
        volumes=read_volumes(volume or []),
        machines=machines,
        port=port,
        pools=text,
    )
    run_here(document, settings)


def read_volumes(pairs: list[str]) -> dict[str, Path]:
    """CLAIM=FOLDER each. Raises UserError."""
    found = {}
    for pair in pairs:
        claim, _, folder = pair.partition("=")
        if not (claim and folder):
            raise UserError(f"--volume {pair!r} has not the form CLAIM=FOLDER.")
        found[claim] = Path(folder)
    return found
