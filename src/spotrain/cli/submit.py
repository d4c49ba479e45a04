"""`spotrain submit`."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from spotrain.cli import output, wording
from spotrain.cli.code import code_folder, packed_code
from spotrain.cli.destination import in_cluster, on_this_machine
from spotrain.cli.errors import UserError
from spotrain.cli.options import Context, Format, Local, Namespace, NewName, Output
from spotrain.cli.sizing import choose_size, fitting_pools
from spotrain.cli.status import watch_to_end
from spotrain.cli.submission import Submission, build_job
from spotrain.job import CapacityPolicy
from spotrain.kinds import Object


def command(
    name: NewName,
    arguments: Annotated[
        list[str],
        typer.Argument(metavar="-- SCRIPT [ARGUMENTS]...", help="What each worker runs."),
    ],
    gpus: Annotated[int, typer.Option(min=1, help="GPUs of all workers together.")],
    gpu_type: Annotated[
        str | None, typer.Option(help="As spotrain gpus lists them; needless if there is one.")
    ] = None,
    min_gpus: Annotated[
        int | None, typer.Option(min=1, help="Below it the job waits; default: one worker's.")
    ] = None,
    image: Annotated[str | None, typer.Option(help="Default: the platform's own.")] = None,
    code: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Send it, less what .spotrainignore names; the script lies in it.",
        ),
    ] = None,
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="NAME=VALUE", help="May be repeated.")
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option("--secret", metavar="NAME", help="Its keys become variables. Repeatable."),
    ] = None,
    pool: Annotated[
        list[str] | None, typer.Option("--pool", help="Only these pools. Repeatable.")
    ] = None,
    capacity: Annotated[
        CapacityPolicy, typer.Option(help="Which nodes to buy, in which order.")
    ] = "spotThenOnDemand",
    budget: Annotated[
        float | None, typer.Option(metavar="USD", help="The job is stopped when it has cost it.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write what would be sent, and send nothing.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Stay and show the job until it has ended.")
    ] = False,
    context: Context = None,
    namespace: Namespace = None,
    local: Local = False,
    form: Output = Format.table,
) -> None:
    """Train: send a job of so many GPUs, which runs SCRIPT in every worker.

    The script finds the name of its output folder in $SPOTRAIN_OUTPUT; an argument may hold it as
    '$(SPOTRAIN_OUTPUT)'.
    """
    if budget is not None and not budget > 0:
        raise UserError(f"--budget {budget:g}: give an amount of dollars above 0.")
    if local and secret:
        raise UserError("--secret: only a cluster has secrets; export its variables here instead.")
    with ExitStack() as opened:
        packed = opened.enter_context(packed_code(code)) if code else None
        target = opened.enter_context(
            on_this_machine(gpu_type, code or Path()) if local else in_cluster(context, namespace)
        )
        usable = fitting_pools(
            target.pools, gpu=gpu_type, gpus=gpus, names=pool or [], capacity=capacity
        )
        if not (image or target.training_image):
            raise UserError("the platform names no training image; name one by --image.")
        asked = Submission(
            name=name,
            namespace=target.namespace,
            researcher=target.researcher,
            gpu=usable[0].gpu,
            size=choose_size(usable, gpus=gpus, min_gpus=min_gpus),
            image=image or target.training_image,
            is_platform_image=image is None,
            arguments=arguments,
            environment=read_environment(env or []),
            secrets=secret or [],
            pools=pool or [],
            capacity=capacity,
            max_dollars=budget,
            workdir=code_folder(packed.sha256) if packed and not local else "",
        )
        document = build_job(asked)
        if dry_run:
            write_document(document, name, form)
            return
        if packed:
            target.send_code(packed)
        made = target.jobs.create(document)
        if form is Format.table:
            watch = wording.command("status", name, "--watch", local=local)
            print(f"submitted {name}: {asked.size.wording}. Next: {watch}", flush=True)
        else:
            write_document(made, name, form)
        if follow:
            watch_to_end(target.jobs, name, local=local)


def write_document(document: Object, name: str, form: Format) -> None:
    """A document is no table: people get it as YAML."""
    written = Format.yaml if form is Format.table else form
    output.answer(document, written, names=[name], table=lambda: name)


def read_environment(pairs: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE each. Raises UserError."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise UserError(f"--env {pair!r} has not the form NAME=VALUE.")
        found[name] = value
    return found
