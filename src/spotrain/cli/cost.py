"""`spotrain cost`."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import typer

from spotrain.cli import output
from spotrain.cli.archive import archive_of
from spotrain.cli.cluster import Cluster, connected
from spotrain.cli.cost_view import document, document_of, draw, tabulate
from spotrain.cli.costs import Tariff, cost_of_all, cost_of_job
from spotrain.cli.errors import UserError
from spotrain.cli.options import Context, Format, Namespace, Output
from spotrain.cli.platform import read_platform, read_prices
from spotrain.clouds.history import History, Market, cache_folder, history

MOST_DAYS: Final = 3650


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Name of the job; default: all.")
    ] = None,
    days: Annotated[
        float, typer.Option(help="Without a name: jobs that were there in the last so many days.")
    ] = 7.0,
    ask_cloud: Annotated[
        bool,
        typer.Option(
            "--history/--no-history",
            help="Ask the cloud what spot cost at the time, with your own credentials.",
        ),
    ] = True,
    context: Context = None,
    namespace: Namespace = None,
    form: Output = Format.table,
) -> None:
    """What jobs cost and saved, by pool, zone and capacity type, and what was lost or idle."""
    if not 0 < days <= MOST_DAYS:
        raise UserError(f"--days {days:g}: give days above 0, and at most {MOST_DAYS}.")
    now = datetime.now(UTC)
    with connected(context, namespace) as cluster:
        tariff = tariff_of(cluster, ask_cloud=ask_cloud)
        with archive_of(cluster) as archive:
            if name is None:
                since = now - timedelta(days=days)
                found = cost_of_all(archive, tariff, since=since, now=now)
            else:
                found = cost_of_job(archive, tariff, name, now=now)
    for note in found.notes:
        output.say(note)
    if name is None:
        output.answer(
            document(found),
            form,
            names=[each.job.name for each in found.jobs],
            table=lambda: tabulate(found),
        )
    else:
        (judged,) = found.jobs
        output.answer(
            {**document_of(judged), "notes": list(found.notes)},
            form,
            names=[name],
            table=lambda: draw(judged),
        )


def tariff_of(cluster: Cluster, *, ask_cloud: bool) -> Tariff:
    """Raises UserError where the cluster has no platform."""
    return Tariff(
        pools=read_platform(cluster).pools,
        latest=read_prices(cluster),
        ask_history=ask_aws if ask_cloud else unasked,
    )


def unasked(markets: Sequence[Market], since: datetime, now: datetime) -> History:
    """Nobody is asked: the platform's own prices have to do."""
    return History(quotes=())


def ask_aws(markets: Sequence[Market], since: datetime, now: datetime) -> History:
    """What spot nodes cost then; without the SDK or the right to ask, why that is not known."""
    try:
        from spotrain.clouds import aws  # boto3 takes half a second
    except ImportError:
        step = "Next: pip install 'spotrain[aws]'."
        return History(quotes=(), problem=f"boto3 is not installed. {step}")
    return history(
        markets,
        since=since,
        now=now,
        ask=aws.spot_history,
        region_of=aws.region_of,
        folder=cache_folder(),
    )
