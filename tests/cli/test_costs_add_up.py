"""What all jobs cost and what is left to the platform is what the nodes cost: no second of a node
is paid twice or by nobody, whatever of prices, clocks and ends is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain import contract
from spotrain.archive.folder import overlaps
from spotrain.archive.records import JobLedger, JobRecord, JobStay
from spotrain.cli.costs import Tariff, cost_of_all
from spotrain.clouds.history import History, Market
from spotrain.job import Pool, Price
from spotrain.ledger.entries import NodeEntry, Place, StayEntry
from spotrain.ledger.prices import PriceBook, Quote

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
NOW = NOON + 100 * MINUTE
TYPE = "g4dn.xlarge"
POOL = Pool(
    name="t4",
    gpu="t4",
    gpus_per_node=4,
    capacity="spot",
    zones=("us-east-1a", "us-east-1b"),
    instance_types=(TYPE,),
    max_nodes=4,
    notice_seconds=90,
    spot_usd_per_hour=0.3,
    on_demand_usd_per_hour=0.526,
)
PLACES = [
    Place(pool=pool, zone=zone, capacity=capacity, instance_type=seen)
    for pool in ("t4", "gone")
    for zone in ("us-east-1a", "us-east-1b", "")
    for capacity in (contract.CAPACITY_SPOT, contract.CAPACITY_ON_DEMAND)
    for seen in (TYPE, "")
]
"""Of some the cloud has a record, of some the platform knows a price, of some nobody."""
minutes = st.integers(0, 99)
uncertain = st.none() | minutes


@dataclass(frozen=True)
class Kept:
    """An archive."""

    ledgers: Sequence[JobLedger]
    every_node: Sequence[NodeEntry]

    def jobs(self) -> list[JobRecord]:
        return [each.job for each in self.ledgers]

    def ledger(self, name: str, uid: str = "") -> JobLedger:
        return next(each for each in self.ledgers if each.job.uid == uid)

    def nodes(
        self, since: datetime | None = None, until: datetime | None = None
    ) -> list[NodeEntry]:
        return [
            node
            for node in self.every_node
            if overlaps(node.created_at, node.gone_at, since, until)
        ]

    def stays(self, since: datetime | None = None, until: datetime | None = None) -> list[JobStay]:
        return [
            JobStay(job=each.job.name, job_uid=each.job.uid, stay=stay)
            for each in self.ledgers
            for stay in each.entries
            if isinstance(stay, StayEntry)
            and overlaps(stay.created_at, stay.ended_at, since, until)
        ]


def at(minute: int | None) -> datetime | None:
    return None if minute is None else NOON + minute * MINUTE


@st.composite
def archives(draw: st.DrawFn) -> Kept:
    """Jobs, two of one name, with pods whose ends may be unknown or before their beginning."""
    nodes = [
        NodeEntry(
            name=f"n{number}",
            uid=f"n{number}",
            place=draw(st.sampled_from(PLACES)),
            gpus=draw(st.sampled_from((0, 1, 4))),
            created_at=NOON + (born := draw(minutes)) * MINUTE,
            gone_at=at(draw(st.none() | st.integers(born, 120))),
        )
        for number in range(draw(st.integers(1, 3)))
    ]
    ledgers = []
    for uid in ("first", "second", "third"):
        stays = []
        for number in range(draw(st.integers(0, 3))):
            host = draw(st.sampled_from(nodes))
            stays.append(
                StayEntry(
                    pod=f"digits-worker-{number}",
                    uid=f"{uid}-{number}",
                    gpus=draw(st.integers(0, 5)),
                    created_at=NOON + draw(minutes) * MINUTE,
                    scheduled_at=at(draw(uncertain)),
                    started_at=at(draw(uncertain)),
                    ended_at=at(draw(uncertain)),
                    node=host.name,
                    node_gpus=host.gpus,
                    node_created_at=host.created_at,
                    place=host.place,
                )
            )
        ended = draw(uncertain)
        job = JobRecord(
            name="other" if uid == "third" else "digits",
            uid=uid,
            created_at=NOON + draw(minutes) * MINUTE,
            ended_at=at(ended),
            outcome="" if ended is None else "failed",
            deleted_at=at(draw(uncertain)) if ended is not None else None,
        )
        ledgers.append(JobLedger(job=job, entries=tuple(stays)))
    return Kept(ledgers, nodes)


quotes = st.lists(
    st.builds(
        lambda minute, usd: Quote(
            instance_type=TYPE,
            zone="us-east-1a",
            usd_per_hour=usd,
            since=NOON + minute * MINUTE,
        ),
        st.integers(-60, 160),
        st.sampled_from((0.1, 0.2, 0.25)),
    ),
    max_size=4,
)
newest = st.lists(
    st.just(
        Price(pool="t4", zone="us-east-1b", instance_type=TYPE, spot_usd_per_hour=0.17, at=NOW)
    ),
    max_size=1,
)


@given(archives(), quotes, newest)
def test_all_jobs_and_the_platform_cost_what_the_nodes_do(
    archive: Kept, record: list[Quote], latest: list[Price]
) -> None:
    def told(markets: Sequence[Market], _since: datetime, _now: datetime) -> History:
        asked = {(market.instance_type, market.zone) for market in markets}
        return History(
            quotes=tuple(each for each in record if (each.instance_type, each.zone) in asked)
        )

    tariff = Tariff(pools=[POOL], latest=latest, ask_history=told)
    found = cost_of_all(archive, tariff, since=NOON - 60 * MINUTE, now=NOW)
    book = PriceBook([POOL], quotes=record, latest=latest)
    lives = [(node, node.created_at, min(node.gone_at or NOW, NOW)) for node in archive.every_node]
    dollars = sum(
        piece.usd_per_hour * ((piece.end - piece.start) / HOUR)
        for node, begin, end in lives
        for piece in book.over(node.place, begin, end)
    )
    paid = [*(each.cost.amount for each in found.jobs), found.platform]
    hours = sum((end - begin) / HOUR for _, begin, end in lives)
    assert sum(each.node_hours for each in paid) == pytest.approx(hours)
    assert sum(each.usd for each in paid) == pytest.approx(dollars)
    assert {each.job.uid for each in found.jobs} == {"first", "second", "third"}
