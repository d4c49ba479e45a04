"""`spotrain describe`."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spotrain.cli import jobs, output, wording
from spotrain.cli.job_view import JobView, view
from spotrain.cli.options import Context, Format, JobName, Local, Namespace, Output
from spotrain.cli.status import draw
from spotrain.controller.status import Condition, PastOffer
from spotrain.job import worker_container
from spotrain.ledger.entries import WorldEntry

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


def command(
    name: JobName,
    context: Context = None,
    namespace: Namespace = None,
    local: Local = False,
    form: Output = Format.table,
) -> None:
    """All of one job: what it runs, its conditions, worlds and places.

    With -o json and -o yaml the ElasticJob itself, as the cluster keeps it.
    """
    with jobs.opened(context=context, namespace=namespace, local=local) as opened:
        document = opened.get(name)
    seen = view(document)
    output.answer(document, form, names=[name], table=lambda: draw_all(seen, datetime.now(UTC)))


def draw_all(seen: JobView, now: datetime) -> "RenderableType":
    from rich.console import Group

    parts: list[RenderableType] = [draw(seen)]
    if ran := dict(_what_runs(seen)):
        parts.append(_pairs(ran))
    if seen.status.conditions:
        parts.append(_conditions(seen.status.conditions, now))
    if seen.worlds:
        parts.append(_worlds(seen.worlds, now))
    if seen.status.offer_history:
        parts.append(_places(seen.status.offer_history, now))
    return Group(*parts)


def _what_runs(seen: JobView) -> Iterator[tuple[str, str]]:
    if seen.researcher:
        yield "researcher", seen.researcher
    yield "created", wording.ago(seen.created_at, datetime.now(UTC))
    if seen.job is None:
        return
    container = seen.job.template["spec"]["containers"][worker_container(seen.job.template)]
    yield "image", str(container.get("image", ""))
    words = [*(container.get("command") or []), *(container.get("args") or [])]
    if words:
        yield "runs", " ".join(map(str, words))
    if container.get("env"):  # names alone: a value may be a secret that was put into the job
        yield "environment", ", ".join(variable["name"] for variable in container["env"])
    if seen.job.budget.max_dollars:
        yield "budget", wording.dollars(seen.job.budget.max_dollars)


def _pairs(rows: dict[str, str]) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for word, said in rows.items():
        table.add_row(word, Text(said))
    return table


def _table(title: str, *columns: str) -> "Table":
    from rich import box
    from rich.table import Table

    made = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def _conditions(conditions: Sequence[Condition], now: datetime) -> "RenderableType":
    table = _table("Conditions", "type", "holds", "for", "reason")
    for each in conditions:
        since = each.last_transition_time
        lasted = wording.span((now - since).total_seconds()) if since else ""
        table.add_row(each.type, "yes" if each.status == "True" else "no", lasted, each.reason)
    return table


def _worlds(worlds: Sequence[WorldEntry], now: datetime) -> "RenderableType":
    table = _table("Worlds", "world", "workers", "steps", "lasted", "ended by", "pause", "lost")
    for each in worlds:
        until = each.ended_at or now
        table.add_row(
            str(each.number),
            str(each.size),
            _steps(each),
            wording.span((until - each.published_at).total_seconds()),
            each.reason,
            f"{each.pause_seconds:.1f} s" if each.pause_seconds is not None else "",
            wording.count(each.steps_lost, "step") if each.steps_lost is not None else "",
        )
    return table


def _steps(world: WorldEntry) -> str:
    if world.last_step is None:
        return "none"
    return f"{world.restored_step or 0:,} - {world.last_step:,}"


def _places(places: Sequence[PastOffer], now: datetime) -> "RenderableType":
    table = _table("Places left, the last one first", "pool", "zone", "left", "reason")
    for each in places:
        table.add_row(each.pool, each.zone, wording.ago(each.until, now), each.reason)
    return table
