"""`spotrain cost`."""

import contextlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import typer

from spotrain.archive.errors import NotFound
from spotrain.cli import output
from spotrain.cli.archive import archive_of
from spotrain.cli.cluster import Cluster, connected
from spotrain.cli.cluster_jobs import ClusterJobs
from spotrain.cli.cost_view import document, document_of, draw, tabulate
from spotrain.cli.costs import Archive, Costs, Tariff, cost_of_all, cost_of_job
from spotrain.cli.errors import NO_CLUSTER, NOT_FOUND, UserError
from spotrain.cli.jobs import Jobs
from spotrain.cli.local_archive import opened_local_archive
from spotrain.cli.local_jobs import LocalJobs, own_shelf
from spotrain.cli.options import AskCloud, Context, Format, Local, Namespace, Output, refuse_empty
from spotrain.cli.platform import read_platform, read_prices
from spotrain.cli.refusals import NotThere
from spotrain.cli.status_ledger import RefreshedLedger, StatusLedger
from spotrain.clouds.history import History, Market, NoHistory, cache_folder, history
from spotrain.kinds import Object
from spotrain.ledger.prices import Quote
from spotrain.local.shelf import Shelf

MOST_DAYS: Final = 3650


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="Name of the job; default: all.", callback=refuse_empty
        ),
    ] = None,
    days: Annotated[
        float, typer.Option(help="Without a name: jobs that were there in the last so many days.")
    ] = 7.0,
    ask_cloud: AskCloud = True,
    context: Context = None,
    namespace: Namespace = None,
    local: Local = False,
    form: Output = Format.table,
) -> None:
    """What jobs cost and saved, by pool, zone and capacity type, and what was lost or idle."""
    if not 0 < days <= MOST_DAYS:
        raise UserError(f"--days {days:g}: give days above 0, and at most {MOST_DAYS}.")
    now = datetime.now(UTC)

    def judge(archive: Archive, tariff: Tariff) -> Costs:
        if name is None:
            return cost_of_all(archive, tariff, since=now - timedelta(days=days), now=now)
        return cost_of_job(archive, tariff, name, now=now)

    if local:
        found = _of_this_machine(judge)
    else:
        with connected(context, namespace) as cluster:
            found = _of_cluster(cluster, name, judge, ask_cloud=ask_cloud)
    for note in found.notes:
        output.say(note)
    if name is None and form is Format.table and not (found.jobs or found.platform.node_hours):
        output.say(f"No job was there in the last {days:g} days; --days looks further back.")
    elif name is None:
        output.answer(
            document(found),
            form,
            names=[each.job.name for each in found.jobs],
            table=lambda: tabulate(found, now),
        )
    else:
        (judged,) = found.jobs
        output.answer(
            {**document_of(judged), "notes": list(found.notes)},
            form,
            names=[name],
            table=lambda: draw(judged),
        )


Judge = Callable[[Archive, Tariff], Costs]


def _of_cluster(cluster: Cluster, name: str | None, judge: Judge, *, ask_cloud: bool) -> Costs:
    """From the archive, of one job with what its status has newer; where the archive does not
    answer, from what the jobs' status has of it."""
    tariff = tariff_of(cluster, ask_cloud=ask_cloud)
    try:
        with archive_of(cluster) as archive:
            return judge(RefreshedLedger(archive, _document(cluster, name)), tariff)
    except UserError as error:
        if error.exit_code != NO_CLUSTER:
            raise
        output.say(f"{error.message} This is what the jobs' own status tells.")
    return _of_status(ClusterJobs(cluster), judge, tariff)


def _document(cluster: Cluster, name: str | None) -> list[Object]:
    """Of the job, if there is one of the name: the archive may know it still."""
    if name is None:
        return []
    with contextlib.suppress(NotThere):
        return [ClusterJobs(cluster).get(name)]
    return []


def _of_this_machine(judge: Judge) -> Costs:
    shelf = own_shelf()
    with opened_local_archive(shelf) as archive:
        ledger = RefreshedLedger(archive, LocalJobs(shelf).list())
        return judge(ledger, local_tariff(shelf))


def local_tariff(shelf: Shelf) -> Tariff:
    """The prices of the pools that jobs were given; nobody bills the machine itself."""
    return Tariff(pools=shelf.pools(), latest=(), ask_history=unasked, counts_gpus=False)


def _of_status(jobs: Jobs, judge: Judge, tariff: Tariff) -> Costs:
    try:
        return judge(StatusLedger(jobs.list()), tariff)
    except NotFound as error:
        raise UserError(str(error), exit_code=NOT_FOUND) from None


def tariff_of(cluster: Cluster, *, ask_cloud: bool) -> Tariff:
    """Raises UserError where the cluster has no platform."""
    platform = read_platform(cluster)
    return Tariff(
        pools=platform.pools,
        latest=read_prices(cluster),
        ask_history=ask_clouds if ask_cloud else unasked,
        terms=platform.terms,
    )


def unasked(markets: Sequence[Market], since: datetime, now: datetime) -> History:
    """Nobody is asked: the platform's own prices have to do."""
    return History(quotes=())


def ask_clouds(markets: Sequence[Market], since: datetime, now: datetime) -> History:
    """What spot nodes cost then, of the clouds that keep a record; or why that is not known."""
    return history(markets, since=since, now=now, ask=_ask_aws, folder=cache_folder())


def _ask_aws(
    region: str, types: Sequence[str], zones: Sequence[str], since: datetime, until: datetime
) -> Sequence[Quote]:
    """Raises NoHistory: without the SDK too, which takes half a second to import."""
    try:
        from spotrain.clouds import aws
    except ImportError:
        step = "Next: pip install 'spotrain[aws]'."
        raise NoHistory(f"boto3 is not installed. {step}") from None
    return aws.spot_history(region, types, zones, since, until)
