"""Where a job runs, and why it cannot."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain.controller.model import CreatePod, Plan
from spotrain.controller.offers import list_offers
from spotrain.controller.placement import find_place
from spotrain.controller.reconcile import reconcile
from spotrain.controller.status import JobStatus, OfferStatus
from spotrain.job import Pool
from tests.controller.builders import NOW, after, applied, created, job, pod, pool, reasons, seen

T4: dict[str, Any] = {"placement": {"gpu": "t4"}}
SPOT = pool("t4-spot")
DEMAND = pool("t4-demand", capacity="on-demand", spot_usd_per_hour=None)
DEAR = pool("t4-dear", spot_usd_per_hour=0.4, zones=("c",))
BIG = pool("t4-big", gpus_per_node=4, spot_usd_per_hour=0.4, zones=("d",))
A10G = pool("a10g-spot", gpu="a10g")
CPU = pool("cpu", gpu="cpu", gpus_per_node=0, capacity="on-demand", max_nodes=1, zones=("a",))
ALL = (DEMAND, A10G, DEAR, SPOT)


def offer_of(plan: Plan) -> str | None:
    return plan.status.offer.place if plan.status.offer else None


def offered(there: tuple[Pool, ...], **placement: Any) -> list[tuple[str, str]]:
    offers = list_offers(job(placement=placement), there, (), NOW)
    return [(offer.pool.name, offer.zone) for offer in offers]


@pytest.mark.parametrize(
    ("placement", "expected"),
    [
        pytest.param(
            {"gpu": "t4"}, "t4-spot:a t4-spot:b t4-dear:c t4-demand:a t4-demand:b", id="spot-first"
        ),
        pytest.param({"gpu": "t4", "capacity": "spot"}, "t4-spot:a t4-spot:b t4-dear:c", id="spot"),
        pytest.param(
            {"gpu": "t4", "capacity": "onDemand"}, "t4-demand:a t4-demand:b", id="on-demand"
        ),
        pytest.param({"gpu": "a10g"}, "a10g-spot:a a10g-spot:b", id="another-gpu"),
        pytest.param({"pools": ["t4-dear"]}, "t4-dear:c", id="a-pool-by-name"),
        pytest.param(
            {"gpu": "t4", "zone": "any"}, "t4-spot: t4-dear: t4-demand:", id="zones-do-not-matter"
        ),
        pytest.param({"gpu": "h100"}, "", id="nothing"),
    ],
)
def test_offers_are_ordered_by_capacity_then_price(
    placement: dict[str, Any], expected: str
) -> None:
    assert " ".join(f"{name}:{zone}" for name, zone in offered(ALL, **placement)) == expected


def test_the_price_that_counts_is_that_of_a_gpu_not_of_a_node() -> None:
    assert offered((SPOT, BIG), gpu="t4")[0] == ("t4-big", "d")


def test_a_pool_too_small_for_the_least_size_is_no_offer() -> None:
    small = pool("small", max_nodes=1)
    this = job(minReplicas=2, **T4)
    assert list_offers(this, (small,), (), NOW) == ()
    place = find_place(this, seen(pools=(small,)), NOW)
    assert place.obstacle is not None
    assert place.obstacle.reason == "NoRoom"
    assert "small has room for 1" in place.obstacle.message


def test_a_worker_that_needs_more_gpus_than_a_node_has_fits_nowhere() -> None:
    limits = {"resources": {"limits": {"nvidia.com/gpu": 4}}}
    template = {"spec": {"containers": [{"name": "w", "image": "i", **limits}]}}
    this = job(worker={"template": template}, **T4)
    assert [offer.pool.name for offer in list_offers(this, (SPOT, BIG), (), NOW)] == ["t4-big"]


def test_a_zone_that_the_template_names_is_the_only_one_offered() -> None:
    selector = {"nodeSelector": {"topology.kubernetes.io/zone": "b"}}
    template = {"spec": {"containers": [{"name": "w", "image": "i"}], **selector}}
    this = job(worker={"template": template}, **T4)
    assert [(o.pool.name, o.zone) for o in list_offers(this, ALL, (), NOW)] == [
        ("t4-spot", "b"),
        ("t4-demand", "b"),
    ]


def test_a_job_that_asks_for_no_place_is_left_to_the_scheduler() -> None:
    plan = reconcile(job(), seen(pools=ALL), NOW)
    assert plan.status.offer is None
    manifest = next(a.manifest for a in plan.actions if isinstance(a, CreatePod))
    assert "nodeSelector" not in manifest["spec"]


@pytest.mark.acceptance(32)
def test_all_workers_are_pinned_to_one_pool_and_zone() -> None:
    plan = reconcile(job(**T4), seen(pools=ALL), NOW)
    selectors = [
        a.manifest["spec"]["nodeSelector"] for a in plan.actions if isinstance(a, CreatePod)
    ]
    assert selectors == [{"spotrain.dev/pool": "t4-spot", "topology.kubernetes.io/zone": "a"}] * 3
    assert plan.status.offer == OfferStatus("t4-spot", "a", NOW)
    assert "OfferChosen" in reasons(plan)


def test_a_place_once_chosen_is_kept_though_a_cheaper_one_appears() -> None:
    first = reconcile(job(**T4), seen(pools=(DEAR,)), NOW)
    later = applied(seen(pools=ALL), first)
    second = reconcile(job(**T4), later, after(60))
    assert offer_of(second) == offer_of(first)
    assert "OfferChosen" not in reasons(second)


def test_a_job_whose_place_is_not_on_record_is_where_its_workers_are() -> None:
    """Who made them died before the first status; meanwhile another place has become the best."""
    made = seen(pod(0, place="t4-dear/c"), pools=ALL)
    plan = reconcile(job(**T4), made, NOW)
    assert offer_of(plan) == "t4-dear/c"
    assert created(plan) == [1, 2]
    leaving = seen(pod(0, place="t4-dear/c", deleting=True), pools=ALL)
    assert offer_of(reconcile(job(**T4), leaving, NOW)) == "t4-spot/a"


def test_when_its_place_is_withdrawn_a_job_trains_on_but_grows_nowhere_else() -> None:
    """A replacement in another zone would tear the job apart."""
    status = JobStatus(offer=OfferStatus("t4-gone", "a", NOW))
    plan = reconcile(job(**T4), seen(pod(0), pod(1), pools=ALL, status=status), NOW)
    assert plan.actions == ()
    assert "OfferGone" in reasons(plan)
    assert plan.status.offer == status.offer


def test_when_its_place_is_withdrawn_and_no_worker_is_left_it_takes_another() -> None:
    status = JobStatus(offer=OfferStatus("t4-gone", "a", NOW))
    plan = reconcile(job(**T4), seen(pools=ALL, status=status), NOW)
    assert plan.status.offer is not None
    assert plan.status.offer.pool == "t4-spot"
    assert created(plan) == [0, 1, 2]


@pytest.mark.parametrize(
    ("placement", "pools", "reason", "says"),
    [
        pytest.param({"gpu": "v100"}, ALL, "UnknownGpu", "there are: a10g, t4", id="gpu"),
        pytest.param({"pools": ["x"]}, (SPOT,), "UnknownPool", "there are: t4-spot", id="pool"),
        pytest.param({"gpu": "t4"}, (), "NoPools", "spotrain-pools", id="no-pools"),
        pytest.param(
            {"gpu": "t4", "capacity": "onDemand"}, (SPOT,), "NoOffer", "onDemand", id="capacity"
        ),
    ],
)
def test_a_job_without_a_place_says_what_there_is_instead(
    placement: dict[str, Any], pools: tuple[Pool, ...], reason: str, says: str
) -> None:
    this = job(placement=placement)
    plan = reconcile(this, seen(pools=pools), NOW)
    running = plan.status.condition("Running")
    assert plan.actions == ()
    assert running is not None
    assert running.reason == reason
    assert says in running.message
    assert reasons(plan) == [reason]
    again = reconcile(this, applied(seen(pools=pools), plan), after(60))
    assert reasons(again) == []


def test_a_zone_that_no_pool_has_is_named_beside_those_there_are() -> None:
    selector = {"nodeSelector": {"topology.kubernetes.io/zone": "z"}}
    template = {"spec": {"containers": [{"name": "w", "image": "i"}], **selector}}
    place = find_place(job(worker={"template": template}, **T4), seen(pools=ALL), NOW)
    assert place.obstacle is not None
    assert place.obstacle.reason == "UnknownZone"
    assert "there are: a, b, c." in place.obstacle.message


@given(
    pools=st.lists(
        st.builds(
            lambda i, gpu, capacity, zones, price: pool(
                f"p{i}", gpu=gpu, capacity=capacity, zones=tuple(zones), spot_usd_per_hour=price
            ),
            st.integers(0, 99),
            st.sampled_from(["t4", "a10g"]),
            st.sampled_from(["spot", "on-demand"]),
            st.lists(st.sampled_from("abc"), min_size=1, unique=True),
            st.floats(0.01, 9),
        ),
        max_size=5,
    ),
    capacity=st.sampled_from(["spotThenOnDemand", "spot", "onDemand"]),
)
def test_every_offer_is_what_was_asked_for_and_none_is_dearer_than_the_next(
    pools: list[Pool], capacity: str
) -> None:
    offers = list_offers(job(placement={"gpu": "t4", "capacity": capacity}), pools, (), NOW)
    ranks = [(o.pool.capacity != "spot", o.pool.usd_per_gpu_hour) for o in offers]
    assert ranks == sorted(ranks)
    assert all(offer.pool.gpu == "t4" and offer.zone in offer.pool.zones for offer in offers)
    assert len({o.pool.capacity for o in offers}) <= (2 if capacity == "spotThenOnDemand" else 1)


def test_a_pool_without_gpus_leaves_the_number_of_workers_on_a_node_to_the_scheduler() -> None:
    this = job(minReplicas=2, placement={"gpu": "cpu"})
    assert offered((SPOT, CPU), gpu="cpu") == [("cpu", "a")]
    plan = reconcile(this, seen(pools=(SPOT, CPU)), NOW)
    manifests = [a.manifest for a in plan.actions if isinstance(a, CreatePod)]
    assert len(manifests) == 3
    assert {m["spec"]["nodeSelector"]["spotrain.dev/pool"] for m in manifests} == {"cpu"}


def test_a_worker_that_needs_a_gpu_does_not_fit_on_nodes_without() -> None:
    limits = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    template = {"spec": {"containers": [{"name": "w", "image": "i", **limits}]}}
    place = find_place(
        job(worker={"template": template}, placement={"gpu": "cpu"}), seen(pools=(CPU,)), NOW
    )
    assert place.obstacle is not None
    assert "cpu has room for 0" in place.obstacle.message


def test_a_pool_without_nodes_is_no_offer_even_for_processors() -> None:
    assert offered((pool("cpu", gpu="cpu", gpus_per_node=0, max_nodes=0),), gpu="cpu") == []


def test_a_price_that_nobody_has_named_is_not_told() -> None:
    own = CPU.model_copy(update={"spot_usd_per_hour": None, "on_demand_usd_per_hour": 0.0})
    plan = reconcile(job(placement={"gpu": "cpu"}), seen(pools=(own,)), NOW)
    (told,) = [event.message for event in plan.events]
    assert told == "workers go to pool cpu, a (on-demand)."
