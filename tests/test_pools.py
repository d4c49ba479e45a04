"""The pools of GPU nodes as the platform lists them."""

import pytest

from spotrain.job import PoolsError, parse_pools

POOL = """
- name: t4-spot
  gpu: t4
  gpusPerNode: 1
  capacity: spot
  zones: [us-east-1a]
  instanceTypes: [g4dn.xlarge]
  maxNodes: 4
  noticeSeconds: 90
  spotUsdPerHour: 0.184
  onDemandUsdPerHour: 0.526
"""


def test_pools_are_read_with_their_prices() -> None:
    (pool,) = parse_pools(POOL)
    assert (pool.name, pool.gpu, pool.gpus_per_node, pool.capacity) == ("t4-spot", "t4", 1, "spot")
    assert (pool.zones, pool.instance_types) == (("us-east-1a",), ("g4dn.xlarge",))
    assert (pool.max_nodes, pool.notice_seconds) == (4, 90)
    assert pool.usd_per_hour == 0.184


@pytest.mark.parametrize(
    ("change", "price"),
    [
        pytest.param(("capacity: spot", "capacity: on-demand"), 0.526, id="on-demand-pays-in-full"),
        pytest.param(("  spotUsdPerHour: 0.184\n", ""), 0.526, id="no-known-spot-price"),
        pytest.param(("gpusPerNode: 1", "gpusPerNode: 4"), 0.184, id="a-node-not-a-gpu"),
    ],
)
def test_the_price_is_that_of_the_capacity_bought(change: tuple[str, str], price: float) -> None:
    (pool,) = parse_pools(POOL.replace(*change))
    assert pool.usd_per_hour == price


def test_nodes_that_nobody_rents_have_no_types_and_no_price() -> None:
    unnamed = POOL.replace("  instanceTypes: [g4dn.xlarge]\n", "")
    (pool,) = parse_pools(unnamed.replace("0.184", "0").replace("0.526", "0"))
    assert (pool.instance_types, pool.usd_per_hour) == ((), 0)


def test_where_nodes_have_no_gpu_the_price_is_that_of_a_node() -> None:
    (pool,) = parse_pools(POOL.replace("gpusPerNode: 1", "gpusPerNode: 0"))
    assert pool.usd_per_gpu_hour == pool.usd_per_hour == 0.184


@pytest.mark.parametrize(
    ("text", "path", "says"),
    [
        pytest.param("{", "", "is no YAML", id="no-yaml"),
        pytest.param("a: 1", "pools", "is a mapping, not a list", id="no-list"),
        pytest.param(POOL + POOL, "pools", "named twice", id="two-of-one-name"),
        pytest.param(
            POOL.replace("capacity: spot", "capacity: Spot"),
            "pools[0].capacity",
            "'spot' or 'on-demand'",
            id="capacity",
        ),
        pytest.param(
            POOL.replace("[us-east-1a]", "[]"), "pools[0].zones", "add one", id="no-zones"
        ),
        pytest.param(
            POOL.replace("maxNodes", "max_nodes"),
            "pools[0].max_nodes",
            "did you mean 'maxNodes'?",
            id="pythons-spelling",
        ),
    ],
)
def test_wrong_pools_are_refused_by_their_path(text: str, path: str, says: str) -> None:
    with pytest.raises(PoolsError) as caught:
        parse_pools(text)
    assert says in dict(caught.value.problems)[path]


def test_no_pools_are_no_fault() -> None:
    assert parse_pools("") == ()
