"""What jobs cost, for scripts and for people."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from spotrain.cli.costs import CostOf, Costs
from spotrain.cli.wording import UNTOLD_STEPS, count, dollars, percent, size, span
from spotrain.ledger.cost import Amount, Line, grouped
from spotrain.ledger.job_cost import Hours, JobCost
from spotrain.ledger.time_split import ettr, tells_no_steps

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

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


def tabulate(found: Costs) -> "RenderableType":
    """A line for each job, and one for what no job pays."""
    table = _table("job", "node hours", "GPU hours", "useful", "cost", "on demand", "saved")
    for each in found.jobs:
        cost = each.cost
        table.add_row(
            each.job.name,
            _hours(cost.amount.node_hours),
            _hours(cost.amount.gpu_hours),
            percent(_useful_share(cost.gpu_hours) or _useful_share(cost.node_hours)),
            dollars(cost.usd),
            dollars(cost.saving.on_demand_usd or None),
            percent(cost.saving.fraction),
        )
    rest = found.platform
    table.add_row(
        "platform", _hours(rest.node_hours), _hours(rest.gpu_hours), "", dollars(rest.usd), "", ""
    )
    return table


def draw(judged: CostOf) -> "RenderableType":
    """Where one job's dollars went, and what became of its hours."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    cost = judged.cost
    places = _table("pool", "zone", "capacity", "price from", "node hours", "GPU hours", "cost")
    by = grouped(
        cost.lines,
        lambda line: (line.place.pool, line.place.zone, line.place.capacity, str(line.source)),
    )
    for place, amount in by.items():
        held = (_hours(amount.node_hours), _hours(amount.gpu_hours))
        places.add_row(*place, *held, dollars(amount.usd))
    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column(overflow="fold")
    facts.add_row("cost", dollars(cost.usd))
    facts.add_row("shared volume", traffic_in_words(cost))
    saved = cost.saving.fraction
    if saved is not None:
        on_demand = dollars(cost.saving.on_demand_usd)
        facts.add_row("saved", f"{percent(saved)}: the same useful work on demand is {on_demand}")
    hours, unit = (cost.gpu_hours, "GPU") if cost.amount.gpu_hours else (cost.node_hours, "node")
    facts.add_row(f"{unit} hours", hours_in_words(hours))
    share = ettr(cost.split, judged.record.worlds)
    if share is not None:
        facts.add_row("useful", f"{percent(share)} of the time that it wanted to train")
    elif tells_no_steps(judged.record.worlds):
        facts.add_row("useful", UNTOLD_STEPS)
    if cost.split.wanted_seconds > 0:
        facts.add_row("lost", lost_in_words(judged))
    return Group(Text(f"{judged.job.name}"), places, facts)


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


def lost_in_words(judged: CostOf) -> str:
    """The causes, the worst first."""
    lost = asdict(judged.cost.split.lost_seconds)
    worst = sorted(lost.items(), key=lambda cause: -cause[1])
    told = [f"{name.replace('_', ' ')} {span(seconds)}" for name, seconds in worst if seconds >= 1]
    return ", ".join(told) or "nothing"


def _useful_share(hours: Hours) -> float | None:
    paid = hours.useful + hours.lost + hours.boot + hours.idle
    return hours.useful / paid if paid > 0 else None


def _hours(hours: float) -> str:
    return f"{hours:,.1f}" if hours >= 10 else f"{hours:.2f}"


def _table(first: str, *others: str) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(first, overflow="fold")
    for name in others:
        is_word = name in ("zone", "capacity", "price from")
        table.add_column(name, justify="left" if is_word else "right")
    return table
