"""Who pays which second of a node: one story for each rule, and the law that binds them all."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain import contract
from spotrain.job import Terms
from spotrain.ledger.attribution import Charge, Tenant, Use, attribute
from spotrain.ledger.entries import NodeEntry, Place, StayEntry

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
PLACE = Place(pool="t4", zone="us-east-1a", capacity=contract.CAPACITY_SPOT)


def at(minutes: float | None) -> datetime | None:
    return None if minutes is None else NOON + minutes * MINUTE


def node(
    created: float = 0, gone: float | None = 60, *, name: str = "n1", gpus: int = 4
) -> NodeEntry:
    return NodeEntry(
        name=name,
        uid=f"{name}-{created}",
        place=PLACE,
        gpus=gpus,
        created_at=NOON + created * MINUTE,
        gone_at=at(gone),
    )


def stay(
    start: float,
    end: float | None,
    *,
    gpus: int = 4,
    name: str = "n1",
    created: float | None = 0,
    uid: str = "",
    node_gpus: int = 4,
) -> StayEntry:
    return StayEntry(
        pod="worker-0",
        uid=uid or f"{name}-{start}-{end}-{gpus}",
        gpus=gpus,
        created_at=NOON - MINUTE,
        scheduled_at=at(start),
        ended_at=at(end),
        node=name,
        node_gpus=node_gpus,
        node_created_at=at(created),
        place=PLACE,
    )


def tenant(job: str, *stays: StayEntry, created: float = -1) -> Tenant:
    return Tenant(job=job, created_at=NOON + created * MINUTE, stays=stays)


def minutes(charges: list[Charge]) -> dict[tuple[str | None, str], Any]:
    """Of whole nodes, by who pays and for what."""
    found: dict[tuple[str | None, str], float] = defaultdict(float)
    for charge in charges:
        found[charge.job, str(charge.use)] += 60 * charge.node_hours
    return {key: pytest.approx(value) for key, value in found.items()}


def told(
    *tenants: Tenant, nodes: list[NodeEntry] | None = None
) -> dict[tuple[str | None, str], Any]:
    entries = [node()] if nodes is None else nodes
    return minutes(attribute(entries, tenants, now=NOON + 100 * MINUTE))


# --- One story for each rule --------------------------------------------------------------------


def test_boot_is_its_who_asked_and_the_cool_down_is_its_who_left() -> None:
    assert told(tenant("a", stay(5, 50))) == {
        ("a", "boot"): 5,
        ("a", "held"): 45,
        ("a", "idle"): 10,
    }


def test_a_node_that_was_there_before_the_job_was_not_asked_for_by_it() -> None:
    assert told(tenant("a", stay(5, 60), created=2)) == {(None, "spare"): 5, ("a", "held"): 55}


def test_of_two_jobs_the_first_pays_the_boot_and_the_last_the_cool_down() -> None:
    found = told(tenant("a", stay(5, 20)), tenant("b", stay(20, 50)))
    assert found == {
        ("a", "boot"): 5,
        ("a", "held"): 15,
        ("b", "held"): 30,
        ("b", "idle"): 10,
    }


def test_idle_time_between_two_jobs_is_its_who_left() -> None:
    found = told(tenant("a", stay(0, 20)), tenant("b", stay(30, 60)))
    assert found == {("a", "held"): 20, ("a", "idle"): 10, ("b", "held"): 30}


def test_what_idles_longer_than_a_cool_down_is_kept_by_the_platform() -> None:
    assert told(tenant("a", stay(0, 20))) == {
        ("a", "held"): 20,
        ("a", "idle"): 15,
        (None, "spare"): 25,
    }


@pytest.mark.parametrize("idle_minutes", [1, 10, 30])
def test_a_cool_down_is_what_the_autoscaler_was_told_and_the_end_of_the_machine(
    idle_minutes: float,
) -> None:
    terms = Terms(idle_minutes=idle_minutes)
    charges = attribute([node()], [tenant("a", stay(0, 20))], now=NOON + 60 * MINUTE, terms=terms)
    idle = [charge for charge in charges if charge.use is Use.IDLE]
    assert sum((c.end - c.start for c in idle), timedelta()) == (idle_minutes + 5) * MINUTE


def test_gpus_are_shared_by_request_and_what_nobody_asked_for_is_the_platforms() -> None:
    found = told(tenant("a", stay(0, 60, gpus=1)), tenant("b", stay(0, 60, gpus=2)))
    assert found == {("a", "held"): 15, ("b", "held"): 30, (None, "spare"): 15}


def test_a_node_without_gpus_is_shared_alike() -> None:
    pods = [stay(0, 60, gpus=0, uid="1"), stay(0, 60, gpus=0, uid="2")]
    found = told(
        tenant("a", *pods), tenant("b", stay(0, 60, gpus=0, uid="3")), nodes=[node(gpus=0)]
    )
    assert found == {("a", "held"): 40, ("b", "held"): 20}


def test_a_pod_without_gpus_pays_nothing_beside_one_that_has_them() -> None:
    found = told(tenant("a", stay(0, 60)), tenant("b", stay(0, 60, gpus=0)))
    assert found == {("a", "held"): 60}


def test_pods_that_come_together_share_the_boot_by_request() -> None:
    found = told(tenant("a", stay(8, 60, gpus=1)), tenant("b", stay(8, 60, gpus=3)))
    assert (found["a", "boot"], found["b", "boot"]) == (2, 6)


def test_a_node_that_no_job_had_is_the_platforms() -> None:
    assert told() == {(None, "spare"): 60}


def test_what_is_still_there_is_charged_until_now() -> None:
    found = told(tenant("a", stay(10, None)), nodes=[node(gone=None)])
    assert found == {("a", "boot"): 10, ("a", "held"): 90}


def test_a_pod_that_waits_for_a_node_holds_nothing() -> None:
    waiting = StayEntry(pod="worker-1", uid="w", gpus=4, created_at=NOON)
    assert told(tenant("a", waiting), nodes=[]) == {}


def test_a_stay_ends_with_its_node_even_if_that_was_seen_late() -> None:
    assert told(tenant("a", stay(0, 70))) == {("a", "held"): 60}


def test_a_node_whose_name_comes_back_is_another_one() -> None:
    nodes = [node(0, 20), node(30, 60)]
    found = told(tenant("a", stay(0, 20)), tenant("b", stay(35, 60, created=30)), nodes=nodes)
    assert found == {("a", "held"): 20, ("b", "boot"): 5, ("b", "held"): 25}


def test_without_a_record_of_the_node_boot_and_use_are_charged_and_no_cool_down() -> None:
    assert told(tenant("a", stay(5, 50)), nodes=[]) == {("a", "boot"): 5, ("a", "held"): 45}


def test_stays_that_did_not_see_the_nodes_creation_find_it_by_name() -> None:
    pods = [stay(5, 50, gpus=2, created=None, uid="1"), stay(9, 50, gpus=2, created=None, uid="2")]
    known = told(tenant("a", *pods))
    assert known == {("a", "boot"): 5, ("a", "held"): 43, (None, "spare"): 2, ("a", "idle"): 10}
    assert told(tenant("a", *pods), nodes=[]) == {("a", "held"): 43, (None, "spare"): 2}


def test_an_entry_that_is_written_twice_counts_once() -> None:
    half = stay(0, 60, gpus=2)
    assert told(tenant("a", half, half))["a", "held"] == 30


def test_more_gpus_asked_than_there_are_are_shared_too() -> None:
    found = told(tenant("a", stay(0, 60)), tenant("b", stay(0, 60)))
    assert found == {("a", "held"): 30, ("b", "held"): 30}


# --- The law ------------------------------------------------------------------------------------

NAMES = ("n1", "n2")
moments = st.integers(0, 90)


@st.composite
def lives(draw: st.DrawFn) -> list[NodeEntry]:
    """Nodes, some of which share a name, one after the other."""
    found = []
    for name in NAMES:
        ends = sorted(draw(st.sets(moments, min_size=2, max_size=6)))
        for created, gone in zip(ends[::2], ends[1::2], strict=False):
            is_gone = gone != ends[-1] or draw(st.booleans())
            gpus = draw(st.sampled_from((0, 1, 4)))
            found.append(node(created, gone if is_gone else None, name=name, gpus=gpus))
    return found


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[NodeEntry], list[Tenant]]:
    nodes = draw(lives())
    tenants = []
    for job in ("a", "b", "c"):
        stays = []
        for number in range(draw(st.integers(0, 4))):
            host = draw(st.sampled_from(nodes))
            born = int((host.created_at - NOON) / MINUTE)
            start = draw(st.integers(born, 95))
            end = draw(st.none() | st.integers(start, 99))
            seen = draw(st.booleans())
            gpus = draw(st.integers(0, 5))
            stays.append(
                stay(
                    start,
                    end,
                    gpus=gpus,
                    name=host.name,
                    created=born if seen else None,
                    uid=f"{job}{number}",
                    node_gpus=host.gpus,
                )
            )
        tenants.append(tenant(job, *stays, created=draw(st.integers(-5, 50))))
    return nodes, tenants


@given(worlds(), st.booleans())
def test_every_second_of_every_node_is_charged_exactly_once(
    world: tuple[list[NodeEntry], list[Tenant]], is_recorded: bool
) -> None:
    nodes, tenants = world
    now = NOON + 100 * MINUTE
    charges = attribute(nodes if is_recorded else [], tenants, now=now)
    slices: dict[tuple[str, datetime, datetime], Fraction] = defaultdict(Fraction)
    for charge in charges:
        assert 0 < charge.share <= 1
        slices[charge.node, charge.start, charge.end] += charge.share
    # Of unrecorded nodes whose name came back, both lives may seem to last: each is charged once.
    assert all(total == 1 or (not is_recorded and total == 2) for total in slices.values())
    for name in NAMES:
        spans = sorted((start, end) for host, start, end in slices if host == name)
        if is_recorded:
            assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    if is_recorded:
        charged = sum(((end - start) for _, start, end in slices), timedelta())
        assert charged == sum(
            (min(n.gone_at or now, now) - n.created_at for n in nodes), timedelta()
        )


@given(worlds())
def test_only_who_has_a_node_pays(world: tuple[list[NodeEntry], list[Tenant]]) -> None:
    nodes, tenants = world
    holders = {(t.job, s.node) for t in tenants for s in t.stays}
    for charge in attribute(nodes, tenants, now=NOON + 100 * MINUTE):
        assert (charge.job is None) == (charge.use is Use.SPARE)
        assert charge.job is None or (charge.job, charge.node) in holders


@given(worlds())
def test_the_order_of_the_record_is_of_no_matter(
    world: tuple[list[NodeEntry], list[Tenant]],
) -> None:
    nodes, tenants = world
    now = NOON + 100 * MINUTE
    turned = [
        Tenant(job=each.job, created_at=each.created_at, stays=each.stays[::-1])
        for each in tenants[::-1]
    ]
    one = attribute(nodes, tenants, now=now)
    other = attribute(nodes[::-1], turned, now=now)
    assert sorted(map(repr, one)) == sorted(map(repr, other))
