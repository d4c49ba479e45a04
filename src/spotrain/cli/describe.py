"""`spotrain describe`."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spotrain.cli import jobs, output, wording
from spotrain.cli.causes import lost_in_words
from spotrain.cli.fitted import Column, FactTable, FittedTable
from spotrain.cli.job_view import JobView, view
from spotrain.cli.options import Context, Format, JobName, Local, Namespace, Output
from spotrain.cli.status import draw
from spotrain.controller.status import Condition, PastOffer
from spotrain.job import worker_container
from spotrain.ledger.entries import WorldEntry

if TYPE_CHECKING:
    from rich.console import RenderableType


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
    seen = view(document, local=local)
    output.answer(document, form, names=[name], table=lambda: draw_all(seen, datetime.now(UTC)))


def draw_all(seen: JobView, now: datetime) -> "RenderableType":
    from rich.console import Group

    parts: list[RenderableType] = [draw(seen)]
    if ran := list(_what_runs(seen, now)):
        parts.append(FactTable(ran))
    if seen.status.conditions:
        parts.append(_conditions(seen.status.conditions, now))
    if seen.worlds:
        parts.append(_worlds(seen.worlds, now))
    if seen.status.offer_history:
        parts.append(_places(seen.status.offer_history, now))
    return Group(*parts)


def _what_runs(seen: JobView, now: datetime) -> Iterator[tuple[str, str]]:
    if (split := seen.split(now)) and split.wanted_seconds > 0:
        yield "lost", lost_in_words(split.lost_seconds)
    if seen.researcher:
        yield "researcher", seen.researcher
    yield "created", wording.ago(seen.created_at, now)
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


def _conditions(conditions: Sequence[Condition], now: datetime) -> FittedTable:
    return FittedTable(
        title="Conditions",
        columns=(
            Column(title="type"),
            Column(title="holds"),
            Column(title="since"),
            Column(title="reason", has_words=True),
        ),
        rows=[
            (
                each.type,
                "yes" if each.status == "True" else "no",
                wording.ago(each.last_transition_time, now) if each.last_transition_time else "",
                each.reason,
            )
            for each in conditions
        ],
    )


def _worlds(worlds: Sequence[WorldEntry], now: datetime) -> FittedTable:
    return FittedTable(
        title="Worlds",
        columns=(
            Column(title="world", is_number=True),
            Column(title="workers", is_number=True),
            Column(title="steps", is_number=True),
            Column(title="lasted", is_number=True),
            Column(title="ended by"),
            Column(title="pause", is_number=True),
            Column(title="lost", is_number=True),
        ),
        rows=[_world_row(each, now) for each in worlds],
        left_out=("lasted", "workers", "pause"),
    )


def _world_row(world: WorldEntry, now: datetime) -> tuple[str, ...]:
    return (
        str(world.number),
        str(world.size),
        wording.steps(world) or "none",
        wording.span(((world.ended_at or now) - world.published_at).total_seconds()),
        world.reason,
        f"{world.pause_seconds:,.2f} s" if world.pause_seconds is not None else "",
        wording.count(world.steps_lost, "step") if world.steps_lost is not None else "",
    )


def _places(places: Sequence[PastOffer], now: datetime) -> FittedTable:
    return FittedTable(
        title="Places left, the last one first",
        columns=(
            Column(title="pool", has_words=True),
            Column(title="zone", has_words=True),
            Column(title="left"),
            Column(title="reason", has_words=True),
        ),
        rows=[(each.pool, each.zone, wording.ago(each.until, now), each.reason) for each in places],
    )
