"""What jobs cost, for scripts and for people."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from spotrain.cli import wording
from spotrain.cli.causes import lost_in_words
from spotrain.cli.costs import CostOf, Costs
from spotrain.cli.fitted import Column, FactTable, FittedTable, Paragraphs
from spotrain.cli.wording import count, dollars, percent, size
from spotrain.ledger.cost import Amount, Line, grouped
from spotrain.ledger.job_cost import Hours, JobCost
from spotrain.ledger.time_split import ettr

if TYPE_CHECKING:
    from rich.console import RenderableType

GPU_HOURS: Final = "GPU hours"
PLATFORM: Final = (
    "platform: what no job pays, GPUs that nobody asked for and nodes that were idle for longer "
    "than the autoscaler waits"
)
WORDS: Final = ("job", "pool", "zone", "capacity", "price from")
"""Columns that hold no numbers."""

# --- For scripts --------------------------------------------------------------------------------


def document(found: Costs) -> dict[str, Any]:
    return {
        "jobs": [document_of(each) for each in found.jobs],
        "platform": _amount(found.platform),
        "notes": list(found.notes),
    }


def document_of(judged: CostOf) -> dict[str, Any]:
    job, cost = judged.job, judged.cost
    lost = asdict(cost.split.lost_seconds)
    return {
        "job": job.name,
        "uid": job.uid,
        "researcher": job.researcher,
        **_amount(cost.amount),
        "usd": cost.usd,
        "nodeUsd": cost.amount.usd,
        "traffic": _traffic(cost),
        "onDemandUsd": cost.saving.on_demand_usd,
        "saved": cost.saving.fraction,
        "gpuHoursBy": asdict(cost.gpu_hours),
        "nodeHoursBy": asdict(cost.node_hours),
        "ettr": ettr(cost.split, judged.record.worlds),
        "wantedSeconds": cost.split.wanted_seconds,
        "usefulSeconds": cost.split.useful_seconds,
        "lostSeconds": {_camel(cause): seconds for cause, seconds in lost.items()},
        "lines": [_line(line) for line in cost.lines],
    }


def _traffic(cost: JobCost) -> dict[str, Any]:
    """Between the job's pods and the shared volume; what nobody knows is null."""
    traffic = cost.traffic
    return {
        "readBytes": traffic.read_bytes if traffic.is_known else None,
        "writtenBytes": traffic.written_bytes if traffic.is_known else None,
        "pods": traffic.pods,
        "countedPods": traffic.counted_pods,
        "usd": cost.traffic_usd,
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "pool": line.place.pool,
        "zone": line.place.zone,
        "capacity": line.place.capacity,
        "instanceType": line.place.instance_type,
        "use": str(line.use),
        "source": str(line.source),
        **_amount(line.amount),
    }


def _amount(amount: Amount) -> dict[str, float]:
    return {_camel(name): number for name, number in asdict(amount).items()}


def _camel(name: str) -> str:
    from pydantic.alias_generators import to_camel

    return to_camel(name)


# --- For people ---------------------------------------------------------------------------------


def tabulate(found: Costs, now: datetime) -> "RenderableType":
    """A line for each job, and one for what no job pays."""
    from rich.console import Group

    rest = found.platform
    platform = ("platform", "", *_held(rest), "", dollars(rest.usd), "", "")
    table = _table(
        ("job", "age", "node hours", GPU_HOURS, "ETTR", "cost", "on demand", "saved"),
        [
            *(
                (
                    each.job.name,
                    wording.span((now - each.job.created_at).total_seconds()),
                    *_held(each.cost.amount),
                    percent(ettr(each.cost.split, each.record.worlds)),
                    dollars(each.cost.usd),
                    dollars(each.cost.saving.on_demand_usd or None),
                    percent(each.cost.saving.fraction),
                )
                for each in found.jobs
            ),
            *([platform] if rest.node_hours else []),
        ],
        left_out=(GPU_HOURS, "on demand", "saved", "node hours", "age"),
        has_gpus=any(each.gpu_hours for each in (rest, *(each.cost.amount for each in found.jobs))),
    )
    return Group(table, Paragraphs(PLATFORM)) if rest.node_hours else table


def draw(judged: CostOf) -> "RenderableType":
    """Where one job's dollars went, and what became of its hours."""
    from rich.console import Group
    from rich.text import Text

    cost = judged.cost
    by = grouped(
        cost.lines,
        lambda line: (line.place.pool, line.place.zone, line.place.capacity, str(line.source)),
    )
    places = _table(
        ("pool", "zone", "capacity", "price from", "node hours", GPU_HOURS, "cost"),
        [(*place, *_held(amount), dollars(amount.usd)) for place, amount in by.items()],
        left_out=(GPU_HOURS, "price from", "capacity"),
        has_gpus=bool(cost.amount.gpu_hours),
    )
    return Group(Text(judged.job.name), places, FactTable(list(_facts(judged))))


def _facts(judged: CostOf) -> Iterator[tuple[str, str]]:
    cost = judged.cost
    yield "cost", dollars(cost.usd)
    yield "shared volume", traffic_in_words(cost)
    if (saved := cost.saving.fraction) is not None:
        on_demand = dollars(cost.saving.on_demand_usd)
        yield "saved", f"{percent(saved)}: the same useful work on demand is {on_demand}"
    hours, unit = (cost.gpu_hours, "GPU") if cost.amount.gpu_hours else (cost.node_hours, "node")
    yield f"{unit} hours", hours_in_words(hours)
    if cost.split.wanted_seconds > 0:
        yield "ETTR", wording.ettr(ettr(cost.split, judged.record.worlds))
        yield "lost", lost_in_words(cost.split.lost_seconds)


def hours_in_words(hours: Hours) -> str:
    parts = asdict(hours)
    return ", ".join(f"{_hours(number)} {name}" for name, number in parts.items())


def traffic_in_words(cost: JobCost) -> str:
    """3.1 GB read, 12 GB written: $0.81."""
    traffic = cost.traffic
    if not traffic.is_known:
        return "nobody counted what its pods read and wrote" if traffic.pods else "not used"
    told = f"{size(traffic.read_bytes)} read, {size(traffic.written_bytes)} written"
    if traffic.counted_pods < traffic.pods:
        told += f" by {traffic.counted_pods} of {count(traffic.pods, 'pod')}"
    price = "no price is known" if cost.traffic_usd is None else dollars(cost.traffic_usd)
    return f"{told}: {price}"


def _hours(hours: float) -> str:
    return f"{hours:,.1f}" if hours >= 10 else f"{hours:.2f}"


def _held(amount: Amount) -> tuple[str, str]:
    return _hours(amount.node_hours), _hours(amount.gpu_hours)


def _table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left_out: Sequence[str],
    has_gpus: bool,
) -> FittedTable:
    """Without a column of GPU hours where no node has a GPU."""
    kept = [i for i, title in enumerate(titles) if has_gpus or title != GPU_HOURS]
    return FittedTable(
        columns=[
            Column(
                title=titles[i],
                is_number=titles[i] not in WORDS,
                has_words=titles[i] in WORDS,
            )
            for i in kept
        ],
        rows=[[row[i] for i in kept] for row in rows],
        left_out=[title for title in left_out if has_gpus or title != GPU_HOURS],
    )
