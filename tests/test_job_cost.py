"""What became of the hours that a job paid for; docs/cost.md works an example out."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain import contract
from spotrain.job import Pool, StoragePrices
from spotrain.ledger.attribution import Tenant, attribute
from spotrain.ledger.cost import bill
from spotrain.ledger.entries import Members, NodeEntry, PauseEntry, Place, StayEntry, WorldEntry
from spotrain.ledger.job_cost import JobCost, Record, job_cost
from spotrain.ledger.prices import PriceBook
from spotrain.ledger.time_split import Span

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
GB = 10**9
POOLS = [
    Pool(
        name=name,
        gpu="t4",
        gpus_per_node=gpus,
        capacity="spot",
        zones=("a",),
        instance_types=("g4dn.12xlarge",),
        max_nodes=8,
        notice_seconds=90,
        spot_usd_per_hour=1.2,
        on_demand_usd_per_hour=4.0,
    )
    for name, gpus in (("t4", 4), ("cpu", 0))
]
BOOK = PriceBook(POOLS)


def place(pool: str = "t4") -> Place:
    return Place(pool=pool, zone="a", capacity=contract.CAPACITY_SPOT, instance_type="")


def stay(number: int, start: float, end: float, *, gpus: int, pool: str, node: str) -> StayEntry:
    return StayEntry(
        pod=f"j-worker-{number}",
        uid=f"{number}",
        gpus=gpus,
        created_at=NOON,
        scheduled_at=NOON + start * MINUTE,
        started_at=NOON + start * MINUTE,
        ended_at=NOON + end * MINUTE,
        node=node,
        node_gpus=4 if pool == "t4" else 0,
        node_created_at=NOON,
        place=place(pool),
    )


def world(
    number: int, start: float, end: float, *, workers: int, steps: tuple[int, int], pool: str = "t4"
) -> WorldEntry:
    return WorldEntry(
        number=number,
        size=workers,
        members=(Members(place=place(pool), workers=workers),),
        published_at=NOON + start * MINUTE,
        first_step_at=NOON + start * MINUTE,
        last_step_at=NOON + end * MINUTE,
        restored_step=steps[0],
        last_step=steps[1],
        committed_step=steps[1],
        ended_at=NOON + end * MINUTE,
        reason="notice",
    )


def judge(
    stays: list[StayEntry],
    worlds: list[WorldEntry],
    pauses: list[PauseEntry] | None = None,
    storage: StoragePrices | None = None,
) -> JobCost:
    end = max(each.ended_at for each in stays if each.ended_at)
    nodes = [
        NodeEntry(
            name=name,
            uid=name,
            place=next(s.place for s in stays if s.node == name and s.place),
            gpus=next(s.node_gpus for s in stays if s.node == name),
            created_at=NOON,
            gone_at=end + 10 * MINUTE,
        )
        for name in {each.node for each in stays}
    ]
    charges = attribute(
        nodes, [Tenant(job="j", created_at=NOON, stays=stays)], now=end + 10 * MINUTE
    )
    lines = [line for line in bill(charges, BOOK) if line.job == "j"]
    record = Record(
        worlds=worlds, stays=stays, pauses=pauses or [], life=Span(NOON, end), min_workers=1
    )
    return job_cost(lines, record, BOOK, storage)


def test_boot_and_cool_down_are_paid_and_of_no_use() -> None:
    found = judge(
        [stay(0, 10, 70, gpus=4, pool="t4", node="n1")],
        [world(1, 10, 70, workers=1, steps=(0, 100))],
    )
    assert found.saving.usd == pytest.approx(80 / 60 * 1.2)
    assert found.saving.on_demand_usd == pytest.approx(4.0)
    assert found.gpu_hours.useful == pytest.approx(4)
    assert (found.gpu_hours.boot, found.gpu_hours.idle) == pytest.approx((4 / 6, 4 / 6))


STORAGE = StoragePrices(read_usd_per_gb=0.03, written_usd_per_gb=0.06)


def moved(read: int | None = None, written: int | None = None) -> StayEntry:
    held = stay(0, 0, 60, gpus=4, pool="t4", node="n1")
    return replace(held, read_bytes=read, written_bytes=written)


def test_traffic_is_paid_and_on_demand_pays_the_useful_part_of_it() -> None:
    pods = [moved(100 * GB, 10 * GB)]
    half = [world(1, 0, 30, workers=1, steps=(0, 100))]
    without = judge(pods, half)
    found = judge(pods, half, storage=STORAGE)
    assert found.traffic_usd == pytest.approx(3.6)
    assert found.usd == pytest.approx(without.usd + 3.6)
    assert found.saving.usd == found.usd
    assert found.saving.on_demand_usd == pytest.approx(without.saving.on_demand_usd + 1.8)


def test_what_nobody_counted_or_priced_is_not_nothing() -> None:
    unpriced = judge([moved(GB, 0)], [])
    assert (unpriced.traffic_usd, unpriced.traffic.read_bytes) == (None, GB)
    uncounted = judge([moved()], [], storage=STORAGE)
    assert (uncounted.traffic_usd, uncounted.traffic.is_known) == (None, False)
    pods = [moved(GB, 0), replace(moved(), uid="other")]
    partly = judge(pods, [], storage=STORAGE)
    assert (partly.traffic.counted_pods, partly.traffic.pods) == (1, 2)
    assert partly.traffic_usd == pytest.approx(0.03)


def test_bytes_that_cost_nothing_cost_nothing() -> None:
    free = StoragePrices(read_usd_per_gb=0.0, written_usd_per_gb=0.0)
    assert judge([moved(GB, GB)], [], storage=free).traffic_usd == 0.0


def test_two_workers_on_a_node_without_gpus_have_half_of_it_each() -> None:
    pods = [stay(n, 0, 60, gpus=0, pool="cpu", node="n1") for n in (0, 1)]
    found = judge(pods, [world(1, 0, 30, workers=2, steps=(0, 10), pool="cpu")])
    assert found.node_hours.useful == pytest.approx(0.5)
    assert found.node_hours.lost == pytest.approx(0.5)
    assert found.gpu_hours.useful == found.gpu_hours.lost == 0
    assert found.saving.on_demand_usd == pytest.approx(2.0)


def test_steps_that_are_done_again_are_lost_gpu_hours() -> None:
    pods = [stay(0, 0, 60, gpus=4, pool="t4", node="n1")]
    worlds = [
        world(1, 0, 30, workers=1, steps=(0, 300)),
        world(2, 30, 60, workers=1, steps=(200, 500)),
    ]
    found = judge(pods, worlds)
    assert found.gpu_hours.lost == pytest.approx(4 * 10 / 60)


def test_without_a_step_nothing_is_said_to_be_saved() -> None:
    found = judge([stay(0, 0, 60, gpus=4, pool="t4", node="n1")], [])
    assert found.saving.fraction is None
    assert found.gpu_hours.lost == pytest.approx(4)


def test_a_world_somewhere_unheard_of_is_of_no_use() -> None:
    pods = [stay(0, 0, 60, gpus=4, pool="t4", node="n1")]
    found = judge(pods, [world(1, 0, 60, workers=1, steps=(0, 9), pool="gone")])
    assert found.saving.on_demand_usd == 0


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(1, 50), st.integers(1, 4), st.booleans()),
        min_size=1,
        max_size=4,
    ),
    st.lists(st.integers(1, 20), max_size=4),
)
def test_what_is_paid_for_is_useful_lost_boot_or_idle(
    pods: list[tuple[int, int, int, bool]], worlds: list[int]
) -> None:
    stays = [
        stay(
            number, start, start + length, gpus=gpus, pool="t4", node="n1" if shared else f"n{gpus}"
        )
        for number, (start, length, gpus, shared) in enumerate(pods)
    ]
    done, at, trained = 0, 0, []
    for number, length in enumerate(worlds, start=1):
        trained.append(world(number, at, at + length, workers=2, steps=(done, done + length)))
        at, done = at + length, done + length
    found = judge(stays, trained)
    for hours, paid in (
        (found.gpu_hours, found.amount.gpu_hours),
        (found.node_hours, found.amount.node_hours),
    ):
        parts = (hours.useful, hours.lost, hours.boot, hours.idle)
        assert min(parts) >= 0
        assert sum(parts) == pytest.approx(paid)
