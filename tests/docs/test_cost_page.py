"""The worked example of docs/cost.md, computed from the tables of the page itself."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime

import pytest

from spotrain.cli.causes import CAUSES
from spotrain.job import Pool, StoragePrices
from spotrain.ledger.attribution import Tenant, attribute
from spotrain.ledger.cost import bill, grouped
from spotrain.ledger.entries import Members, NodeEntry, Place, StayEntry, WorldEntry
from spotrain.ledger.job_cost import JobCost, Record, job_cost
from spotrain.ledger.prices import PriceBook, Quote
from spotrain.ledger.time_split import LostSeconds, Span
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs/cost.md").read_text()
NOW = datetime(2026, 11, 21, 18, tzinfo=UTC)
Row = Mapping[str, str]


def rows(heading: str) -> list[Row]:
    """The lines of the first table below a heading, by column."""
    section = PAGE.split(f"### {heading}\n")[1].split("\n#")[0]
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("|")
    ]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]


def at(clock: str) -> datetime:
    hour, minute = map(int, clock.split(":"))
    return datetime(2026, 11, 21, hour, minute, tzinfo=UTC)


def money(text: str) -> float:
    return float(re.sub(r"[$*,]", "", text))


POOL_ROW = rows("The pool")[0]
POOL = Pool(
    name=POOL_ROW["pool"],
    gpu=POOL_ROW["GPU"],
    gpus_per_node=int(POOL_ROW["of a node"]),
    capacity="spot",
    zones=(POOL_ROW["zone"],),
    instance_types=(POOL_ROW["type"],),
    max_nodes=4,
    notice_seconds=90,
    on_demand_usd_per_hour=money(POOL_ROW["list price, $ an hour"]),
)
PLACE = Place(
    pool=POOL.name, zone=POOL.zones[0], capacity="spot", instance_type=POOL.instance_types[0]
)
QUOTES = [
    Quote(
        instance_type=PLACE.instance_type,
        zone=PLACE.zone,
        usd_per_hour=money(row["$ an hour"]),
        since=at(row["from"]),
    )
    for row in rows("What the cloud told of the price")
]
BOOK = PriceBook([POOL], quotes=QUOTES)
NODES = [
    NodeEntry(
        name=row["node"],
        uid=row["node"],
        place=PLACE,
        gpus=POOL.gpus_per_node,
        created_at=at(row["created"]),
        gone_at=at(row["gone"]),
    )
    for row in rows("The nodes")
]


MOVED = {row["pod"]: row for row in rows("What the pods of resnet moved")}
MOVING = rows("What moving bytes costs")[0]
STORAGE = StoragePrices(
    read_usd_per_gb=money(MOVING["$ per GB read"]),
    written_usd_per_gb=money(MOVING["$ per GB written"]),
)


def moved(pod: str, column: str) -> int | None:
    return round(float(MOVED[pod][column]) * 1e9) if pod in MOVED else None


def stays(job: str) -> list[StayEntry]:
    return [
        StayEntry(
            pod=row["pod"],
            uid=row["pod"],
            gpus=int(row["GPUs"]),
            created_at=at(row["asked for"]),
            scheduled_at=at(row["from"]),
            started_at=at(row["from"]),
            ended_at=at(row["to"]),
            node=row["node"],
            node_gpus=POOL.gpus_per_node,
            node_created_at=next(n.created_at for n in NODES if n.name == row["node"]),
            place=PLACE,
            read_bytes=moved(row["pod"], "GB read"),
            written_bytes=moved(row["pod"], "GB written"),
        )
        for row in rows("The pods")
        if row["pod"].startswith(f"{job}-worker-")
    ]


def tenant(job: str) -> Tenant:
    held = stays(job)
    return Tenant(job=job, created_at=min(stay.created_at for stay in held), stays=held)


def worlds() -> list[WorldEntry]:
    return [
        WorldEntry(
            number=int(row["world"]),
            size=int(row["workers"]),
            members=(Members(place=PLACE, workers=int(row["workers"])),),
            published_at=at(row["first step"]),
            first_step_at=at(row["first step"]),
            last_step_at=at(row["last step"]),
            restored_step=int(row["from step"]),
            last_step=int(row["to step"]),
            committed_step=int(row["committed"]),
            ended_at=at(row["last step"]),
            reason=row["ended by"],
        )
        for row in rows("The worlds of resnet")
    ]


CHARGES = attribute(NODES, [tenant("resnet"), tenant("bert")], now=NOW)
LINES = bill(CHARGES, BOOK)


def cost_of_resnet() -> JobCost:
    held = stays("resnet")
    life = Span(held[0].created_at, max(s.ended_at for s in held if s.ended_at))
    record = Record(worlds=worlds(), stays=held, pauses=(), life=life, min_workers=1)
    return job_cost([line for line in LINES if line.job == "resnet"], record, BOOK, STORAGE)


def test_each_line_of_the_bill_is_what_the_rules_make_of_the_example() -> None:
    found = {
        (job or "platform", str(use)): (round(amount.node_hours, 2), round(amount.usd, 2))
        for (job, use), amount in grouped(LINES, lambda line: (line.job, line.use)).items()
    }
    table: Sequence[Row] = rows("The bill")
    assert table[-1]["who"] == "**all nodes**"
    assert found == {
        (row["who"], row["for"]): (float(row["node hours"]), money(row["$"])) for row in table[:-1]
    }


def test_the_bill_is_what_the_nodes_cost_no_more_and_no_less() -> None:
    last = rows("The bill")[-1]
    lives = [each.gone_at - each.created_at for each in NODES if each.gone_at]
    hours = sum(life.total_seconds() for life in lives) / 3600
    usd = sum(
        piece.usd_per_hour * (piece.end - piece.start).total_seconds() / 3600
        for each in NODES
        for piece in BOOK.over(each.place, each.created_at, each.gone_at or NOW)
    )
    assert money(last["node hours"]) == pytest.approx(hours, abs=0.005)
    assert money(last["$"]) == pytest.approx(usd, abs=0.005)


def test_what_was_saved_is_what_the_page_says() -> None:
    cost = cost_of_resnet()
    gpus = cost.gpu_hours
    assert cost.saving.fraction is not None
    assert cost.traffic_usd is not None
    assert {row["what"]: row["so much"] for row in rows("What resnet saved")} == {
        "GPU hours of use": f"{gpus.useful:.2f}",
        "GPU hours lost": f"{gpus.lost:.2f}",
        "GPU hours booting": f"{gpus.boot:.2f}",
        "GPU hours idle": f"{gpus.idle:.2f}",
        "nodes of resnet": f"${cost.amount.usd:.2f}",
        "its traffic with the shared volume": f"${cost.traffic_usd:.2f}",
        "resnet paid": f"${cost.saving.usd:.2f}",
        "the same useful work on demand": f"${cost.saving.on_demand_usd:.2f}",
        "saved": f"{100 * cost.saving.fraction:.1f} %",
    }


def test_the_page_has_each_cause_by_which_time_is_lost_under_the_name_that_is_shown() -> None:
    assert list(CAUSES) == [field.name for field in fields(LostSeconds)]
    assert [row["cause"] for row in rows("What time is lost to")] == [
        cause.word for cause in CAUSES.values()
    ]
