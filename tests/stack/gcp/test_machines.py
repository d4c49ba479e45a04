"""The table of machines and prices is whole."""

import pytest

from components.gcp.nodes.node_config import node_config
from stacks.gcp.machines import family_of, machine_catalog
from stacks.gcp.services import service_catalog, service_prices
from tests.stack.invariants.gcp_nodes import LOCAL_SSDS

CATALOG = machine_catalog()
MACHINES = [machine for shapes in CATALOG.shapes.values() for machine in shapes]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: f"{m.name}-{m.gpus}")
def test_a_machine_is_sold_somewhere_for_less_on_spot(machine: object) -> None:
    prices = [CATALOG.price(machine, region) for region in CATALOG.regions]  # type: ignore[arg-type]
    sold = [price for price in prices if price]
    assert sold
    assert all(0 < price.spot < price.on_demand for price in sold)


@pytest.mark.parametrize("region", CATALOG.regions)
def test_a_region_has_prices_of_all_that_it_has(region: str) -> None:
    zones = CATALOG.zones(region)
    for machine in MACHINES:
        where = CATALOG.zones_with(machine.gpu, region)
        assert set(where) <= set(zones)
        assert bool(where) is (CATALOG.price(machine, region) is not None), machine.name


def test_gpus_that_a_machine_gets_are_paid_beside_it() -> None:
    one, four = (CATALOG.machine("n1-standard-8", gpus) for gpus in (1, 4))
    assert one
    assert four
    here = CATALOG.regions["us-central1"].usd_per_hour
    for machine in (one, four):
        price = CATALOG.price(machine, "us-central1")
        assert price
        gpus = machine.gpus * here["nvidia-tesla-t4"].on_demand
        assert price.on_demand == pytest.approx(here["n1-standard-8"].on_demand + gpus)


def test_a_machine_has_the_disks_that_come_with_its_type() -> None:
    assert {each.name: each.local_ssds for each in MACHINES if each.local_ssds} == LOCAL_SSDS


def test_a_model_has_one_size_of_memory() -> None:
    sizes = {(machine.gpu, machine.gpu_memory_gib) for machine in MACHINES}
    assert len(sizes) == len({gpu for gpu, _ in sizes})


def test_a_type_is_of_its_family() -> None:
    assert family_of("a2-highgpu-1g") == "a2-highgpu"
    assert CATALOG.machine("g2-standard-24", 2)
    assert CATALOG.machine("g2-standard-24", 1) is None
    assert CATALOG.machine("g9-standard-24", 1) is None


def test_every_manager_takes_the_root_disk_that_nodes_get() -> None:
    """Machines of the fourth generation take Hyperdisk alone, and would never start."""
    assert node_config("nodes@example.com")["disk_type"] == "pd-balanced"
    generations = {family_of(name).partition("-")[0] for name in service_catalog().managers}
    assert generations <= {"e2", "n2", "n2d", "t2d", "c3", "c3d"}


def test_what_costs_the_same_everywhere_is_not_scaled() -> None:
    here, there = service_catalog(), service_prices("asia-northeast1")
    assert there.usd_per_hour == here.usd_per_hour
    assert there.usd_per_month.kms_key == here.usd_per_month.kms_key
    assert (
        there.managers["e2-standard-2"].usd_per_hour > here.managers["e2-standard-2"].usd_per_hour
    )
