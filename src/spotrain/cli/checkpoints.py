"""`spotrain checkpoints`."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from spotrain.archive.records import CheckpointRecord, to_document
from spotrain.cli import output, wording
from spotrain.cli.errors import JOB_FAILED
from spotrain.cli.options import Context, Format, JobName, Local, Namespace, Output

if TYPE_CHECKING:
    from rich.console import RenderableType


def command(
    name: JobName,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every byte of them; 1 if one is damaged.")
    ] = False,
    prune: Annotated[bool, typer.Option("--prune", help="Remove all but the newest.")] = False,
    keep: Annotated[int, typer.Option(min=1, help="How many --prune leaves.")] = 3,
    folder: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="The job's output, if its script chose one of its own: a folder of the volume, "
            "s3://BUCKET/PREFIX or gs://BUCKET/PREFIX.",
        ),
    ] = None,
    context: Context = None,
    namespace: Namespace = None,
    local: Local = False,
    form: Output = Format.table,
) -> None:
    """The checkpoints of a job: step, world, size, age, and whether they are whole.

    Those in a bucket are read with your own login there.
    """
    from spotrain.cli.checkpoint_keepers import opened_keeper

    with opened_keeper(context, namespace, name, folder, local=local) as kept:
        if prune:
            gone = kept.prune(keep)
            which = f": {', '.join(gone)}" if gone else f"; the newest {keep} stay"
            output.say(f"removed {wording.count(len(gone), 'checkpoint')}{which}")
        found = kept.verified() if verify else kept.records()
    if not found and form is Format.table:
        output.say(f"{name} has no checkpoint in {kept.place}.")
        return
    output.answer(
        [to_document(each) for each in found],
        form,
        names=[each.id for each in found],
        table=lambda: tabulate(found, datetime.now(UTC)),
    )
    if any(each.intact is False for each in found):
        raise typer.Exit(JOB_FAILED)


def tabulate(found: Sequence[CheckpointRecord], now: datetime) -> "RenderableType":
    """The newest first, which is the one that a world restores."""
    from spotrain.cli.fitted import Column, FittedTable

    numbers = ("step", "world", "epoch", "size", "age")
    return FittedTable(
        columns=[
            *(Column(title=title, is_number=True) for title in numbers),
            Column(title="intact", has_words=True),
        ],
        rows=[
            (
                f"{each.step:,}",
                str(each.world),
                "" if each.epoch is None else str(each.epoch),
                "" if each.size_bytes is None else wording.size(each.size_bytes),
                wording.span((now - each.created_at).total_seconds()) if each.created_at else "",
                _intact(each),
            )
            for each in found
        ],
        left_out=("epoch", "world", "size"),
    )


def _intact(each: CheckpointRecord) -> str:
    if each.intact is None:
        return each.problem or "not verified"
    return "yes" if each.intact else f"no: {each.problem}"
