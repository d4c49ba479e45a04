"""`spotrain checkpoints`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from spotrain import contract
from spotrain.archive.records import CheckpointRecord, to_document
from spotrain.cli import output, wording
from spotrain.cli.errors import JOB_FAILED, NOT_FOUND, USAGE, UserError
from spotrain.cli.options import Context, Format, JobName, Local, Namespace, Output
from spotrain.cli.submission import output_folder
from spotrain.job import worker_container
from spotrain.kinds import Object

if TYPE_CHECKING:
    from rich.console import RenderableType

FOLDER = "checkpoints"
"""Below a job's output, where the training library puts them."""


class Keeper(Protocol):
    """Looks after the checkpoints of an output folder; the archive does, and this machine."""

    def checkpoints(self, output: str) -> list[CheckpointRecord]: ...

    def verify_checkpoints(self, output: str) -> Iterator[CheckpointRecord]: ...

    def prune_checkpoints(self, output: str, keep: int) -> list[str]: ...


def command(
    name: JobName,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every byte of them; 1 if one is damaged.")
    ] = False,
    prune: Annotated[bool, typer.Option("--prune", help="Remove all but the newest.")] = False,
    keep: Annotated[int, typer.Option(min=1, help="How many --prune leaves.")] = 3,
    folder: Annotated[
        str | None,
        typer.Option(help="The job's output folder, if its script chose one of its own."),
    ] = None,
    context: Context = None,
    namespace: Namespace = None,
    local: Local = False,
    form: Output = Format.table,
) -> None:
    """The checkpoints of a job: step, world, size, age, and whether they are whole."""
    with _opened(context, namespace, name, local=local) as (keeper, document):
        place = f"{(folder or output_of(document, name)).rstrip('/')}/{FOLDER}"
        if prune:
            gone = keeper.prune_checkpoints(place, keep)
            output.say(f"removed {wording.count(len(gone), 'checkpoint')}: {', '.join(gone)}")
        found = list(keeper.verify_checkpoints(place) if verify else keeper.checkpoints(place))
    if not found and form is Format.table:
        output.say(f"{name} has no checkpoint in {place}.")
        return
    output.answer(
        [to_document(each) for each in found],
        form,
        names=[each.id for each in found],
        table=lambda: tabulate(found, datetime.now(UTC)),
    )
    if any(each.intact is False for each in found):
        raise typer.Exit(JOB_FAILED)


def output_of(document: Object | None, name: str) -> str:
    """The output folder that the job was told, or else the one it is given by its name."""
    if document is not None:
        template = document["spec"]["replicaSpecs"][contract.WORKER]["template"]
        container = template["spec"]["containers"][worker_container(template)]
        for variable in container.get("env") or []:
            if variable["name"] == contract.ENV_OUTPUT and variable.get("value"):
                return str(variable["value"])
    return output_folder(name)


def tabulate(found: Sequence[CheckpointRecord], now: datetime) -> "RenderableType":
    """The newest first, which is the one that a world restores."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("step", "world", "epoch", "size", "age"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("intact", overflow="fold")
    for each in found:
        intact = {True: "yes", False: f"no: {each.problem}", None: each.problem or "not verified"}
        table.add_row(
            f"{each.step:,}",
            str(each.world),
            "" if each.epoch is None else str(each.epoch),
            "" if each.size_bytes is None else wording.size(each.size_bytes),
            wording.span((now - each.created_at).total_seconds()) if each.created_at else "",
            intact[each.intact],
        )
    return table


@contextmanager
def _opened(
    context: str | None, namespace: str | None, name: str, *, local: bool
) -> Iterator[tuple[Keeper, Object | None]]:
    """Who looks after the job's checkpoints, and its document; None where it is deleted."""
    if local:
        yield _on_this_machine(name)
        return
    from spotrain.cli.archive import archive_of
    from spotrain.cli.cluster import connected
    from spotrain.cli.refusals import NotThere
    from spotrain.kinds import JOBS

    with connected(context, namespace) as cluster:
        try:
            document = cluster.get(JOBS, name)
        except NotThere:
            document = None  # what it wrote stays
        with archive_of(cluster) as archive:
            yield archive, document


def _on_this_machine(name: str) -> tuple[Keeper, Object]:
    from spotrain.cli.local_jobs import LocalJobs, own_shelf, usable

    jobs = LocalJobs(own_shelf())
    document = jobs.get(name)
    with usable():
        volumes = jobs.shelf.find(name).settings().volumes
    return LocalKeeper(Path(volumes[contract.VOLUME_CLAIM]) / contract.OUTPUT_DIR), document


@dataclass(frozen=True)
class LocalKeeper:
    """`Keeper` of a folder of this machine. Raises UserError."""

    folder: Path

    def checkpoints(self, output: str) -> list[CheckpointRecord]:
        from spotrain.archive.checkpoints import list_checkpoints

        with _told():
            return list_checkpoints(self.folder, output)

    def verify_checkpoints(self, output: str) -> Iterator[CheckpointRecord]:
        from spotrain.archive.checkpoints import verify_checkpoints

        with _told():
            yield from verify_checkpoints(self.folder, output)

    def prune_checkpoints(self, output: str, keep: int) -> list[str]:
        from spotrain.archive.checkpoints import prune_checkpoints
        from spotrain.checkpoints.retention import Retention

        with _told():
            return prune_checkpoints(self.folder, output, Retention(keep=keep))


@contextmanager
def _told() -> Iterator[None]:
    from spotrain.archive.errors import ArchiveError, NotFound

    try:
        yield
    except ArchiveError as error:
        code = NOT_FOUND if isinstance(error, NotFound) else USAGE
        raise UserError(str(error), exit_code=code) from None
