"""When the cluster counts as known."""

import asyncio

import pytest

from spotrain.controller import cluster as module
from spotrain.controller.cluster import Cluster


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster("", lambda _old, _new: None, lambda _name: None)
    for mirror in made.mirrors:
        mirror.synced.set()
    return made


async def test_a_place_is_chosen_only_when_todays_prices_have_been_listed(cluster: Cluster) -> None:
    waiting = asyncio.create_task(cluster.known())
    await asyncio.sleep(0)
    assert not waiting.done()
    for mirror in cluster.advisers:
        mirror.synced.set()
    await waiting


async def test_a_cluster_without_advice_is_known_all_the_same_and_waits_for_it_once(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ADVICE_SECONDS", 0.01)
    await cluster.known()
    monkeypatch.setattr(module, "ADVICE_SECONDS", float("inf"))
    await cluster.known()
