"""`spotrain gpus`."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spotrain.cli import output
from spotrain.cli.cluster import connected
from spotrain.cli.market import PoolView, view_pools
from spotrain.cli.options import Context, Format, Local, Namespace, Output
from spotrain.cli.platform import read_platform, read_prices
from spotrain.kinds import NODES, PODS

if TYPE_CHECKING:
    from rich.console import RenderableType


def command(
    context: Context = None,
    namespace: Namespace = None,
    local: Local = False,
    form: Output = Format.table,
) -> None:
    """What GPUs there are: where, how many are free, and what they cost now.

    Free are GPUs of nodes that are there and that no pod has; the rest of what a pool can have at
    most comes as new nodes, where the cloud has any. Prices are of one GPU and hour. With --local
    GPUs are made up: those that the jobs of this machine have asked for.
    """
    found = _on_this_machine() if local else _in_cluster(context, namespace)
    if not found and form is Format.table:
        output.say(
            "No job has asked for GPUs here: this machine makes up any that spotrain submit "
            "--local --gpu-type names."
        )
        return
    output.answer(
        [each.summary() for each in found],
        form,
        names=[each.pool.name for each in found],
        table=lambda: tabulate(found),
    )


def _in_cluster(context: str | None, namespace: str | None) -> list[PoolView]:
    with connected(context, namespace) as cluster:
        return view_pools(
            read_platform(cluster).pools,
            read_prices(cluster),
            nodes=cluster.list_all(NODES, namespace=""),
            pods=cluster.list_all(PODS),
            now=datetime.now(UTC),
        )


def _on_this_machine() -> list[PoolView]:
    from spotrain.cli.local_evidence import all_nodes_and_pods, local_pools
    from spotrain.cli.local_jobs import own_shelf

    shelf = own_shelf()
    nodes, pods = all_nodes_and_pods(shelf)
    return view_pools(list(local_pools(shelf)), (), nodes=nodes, pods=pods, now=datetime.now(UTC))


def tabulate(found: Sequence[PoolView]) -> "RenderableType":
    from rich.console import Group

    from spotrain.cli.fitted import Column, FittedTable, Paragraphs

    numbers = ("a node", "now", "free", "at most", "$ now", "$ list")
    table = FittedTable(
        columns=[
            Column(title="gpu"),
            Column(title="pool"),
            Column(title="zones", has_words=True),
            *(Column(title=title, is_number=True) for title in numbers),
        ],
        rows=[
            (
                each.pool.gpu,
                each.pool.name,
                ", ".join(each.pool.zones),
                str(each.pool.gpus_per_node),
                str(each.gpus),
                str(each.free),
                str(each.most),
                f"{each.usd_now:.3f}{'' if each.is_told else '*'}",
                f"{each.usd_list:.3f}",
            )
            for each in found
        ],
        left_out=("$ list", "a node", "zones"),
    )
    if all(each.is_told for each in found):
        return table
    return Group(table, Paragraphs("* as the platform was built; no price has been told lately"))
