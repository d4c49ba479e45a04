"""`spotrain report`."""

import contextlib
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from spotrain import contract
from spotrain.archive.checkpoints import list_checkpoints
from spotrain.archive.errors import Unavailable
from spotrain.archive.records import CheckpointRecord
from spotrain.cli import output
from spotrain.cli.archive import archive_of
from spotrain.cli.cluster import Cluster, connected
from spotrain.cli.cluster_jobs import ClusterJobs
from spotrain.cli.cost import local_tariff, tariff_of
from spotrain.cli.costs import Tariff
from spotrain.cli.errors import NOT_FOUND, UserError
from spotrain.cli.options import AskCloud, Context, JobName, Local, Namespace
from spotrain.cli.refusals import NotThere
from spotrain.cli.report_page.story import Story
from spotrain.cli.status_ledger import SHORT_MEMORY, RefreshedLedger, StatusLedger
from spotrain.cli.stories import gather
from spotrain.kinds import Object

STDOUT: Final = "-"
DOCTYPE: Final = "<!DOCTYPE html>"


def command(
    name: JobName,
    file: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write it, - for standard output; default: NAME-report.html here.",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    ask_cloud: AskCloud = True,
    local: Local = False,
    context: Context = None,
    namespace: Namespace = None,
) -> None:
    """A job as one HTML page: worlds, lost time, throughput, metrics, cost, checkpoints.

    The page needs nothing else and runs no script: send it to whom you like.
    """
    if show and file == STDOUT:
        raise UserError(f"--open needs a file, and -o {STDOUT} writes none. Leave one of them out.")
    place = Path(file or f"{name}-report.html")
    if file != STDOUT:
        refuse_other_files(place)
    if local:
        story = story_of_this_machine(name)
    else:
        with connected(context, namespace) as cluster:
            story = story_in_cluster(cluster, name, tariff_of(cluster, ask_cloud=ask_cloud))
    from spotrain.cli.report_page.page import render  # the templates' library is for this alone

    page = render(story)
    if file == STDOUT:
        sys.stdout.write(page)
        return
    write(place, page)
    hint = "" if show else " Open it in a browser, or send it: it needs nothing else."
    output.say(f"wrote {place}.{hint}")
    if show and not webbrowser.open(place.resolve().as_uri()):
        output.say("no browser could be opened here.")


def refuse_other_files(place: Path) -> None:
    """Raises UserError where a file is in the way that no report has made."""
    try:
        with place.open(errors="replace") as there:
            begin = there.read(len(DOCTYPE))
    except FileNotFoundError:
        return
    except OSError as error:
        raise UserError(f"-o {place}: {error.strerror}. Name another file.") from None
    if begin != DOCTYPE:
        raise UserError(f"-o {place}: there is such a file, and it is no page. Name another one.")


def write(place: Path, page: str) -> None:
    from spotrain.local.files import replace_file

    try:
        replace_file(place, page)
    except OSError as error:
        raise UserError(f"-o {place}: {error.strerror}. Name another file.") from None


def story_in_cluster(cluster: Cluster, name: str, tariff: Tariff) -> Story:
    """By the archive; without it, by the job's own status, and the story says so."""
    now = datetime.now(UTC)
    gone: NotThere | None = None
    document: Object | None = None
    try:
        document = ClusterJobs(cluster).get(name)
    except NotThere as error:
        gone = error
    try:
        with archive_of(cluster) as archive:
            return gather(
                RefreshedLedger(archive, [document] if document else []),
                tariff,
                name,
                document=document,
                list_checkpoints=archive.checkpoints,
                now=now,
            )
    except UserError as error:
        if document is None:
            assert gone
            raise unknown(gone, error) from None
        remark = f"Without the archive, what is older is missing: {SHORT_MEMORY}. {error.message}"
    story = gather(
        StatusLedger([document]),
        tariff,
        name,
        document=document,
        list_checkpoints=unreachable_checkpoints,
        now=now,
    )
    return replace(story, remarks=[remark, *story.remarks])


def unknown(gone: NotThere, problem: UserError) -> UserError:
    """No object, and no archive that has heard of one."""
    if problem.exit_code == NOT_FOUND:
        return gone
    told = f"{gone.message} Of deleted ones only the archive knows: {problem.message}"
    return UserError(told, exit_code=NOT_FOUND)


def unreachable_checkpoints(output: str) -> Sequence[CheckpointRecord]:
    raise Unavailable(f"only the archive sees {output}.")


def story_of_this_machine(name: str) -> Story:
    """Of a job that was deleted too, as in a cluster."""
    from spotrain.cli.local_archive import opened_local_archive
    from spotrain.cli.local_jobs import LocalJobs, own_shelf, usable
    from spotrain.local.shelf import NoSuchJob

    shelf = own_shelf()
    document, volume = None, shelf.volume
    with contextlib.suppress(NoSuchJob):
        stored = shelf.find(name)
        document = LocalJobs(shelf).get(name)
        with usable():
            volume = Path(stored.settings().volumes.get(contract.VOLUME_CLAIM, volume))
    with opened_local_archive(shelf) as archive:
        return gather(
            RefreshedLedger(archive, [document] if document else []),
            local_tariff(shelf),
            name,
            document=document,
            list_checkpoints=partial(list_checkpoints, volume / contract.OUTPUT_DIR),
            now=datetime.now(UTC),
        )
