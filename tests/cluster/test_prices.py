"""The refresher of prices against a real API server, with the rights of k8s/prices.yaml alone."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import datetime

import pytest
import yaml
from lightkube import Client, KubeConfig
from moto import mock_aws

from components.cloud import Pool
from components.platform.elastic_jobs import pools_document
from spotrain import contract, kinds
from spotrain.clouds.__main__ import main, refresh
from spotrain.clouds.prices import RefreshError
from spotrain.controller.kube import Kube, KubeError, NotFound
from spotrain.job import Pool as JobPool
from spotrain.job import Price, parse_prices
from spotrain.ledger.prices import Quote
from tests.cluster.cluster import KINDS, REPOSITORY, install, request_token
from tests.cluster.server import ISSUER, ApiServer

pytestmark = pytest.mark.cluster
SYSTEM = contract.SYSTEM_NAMESPACE
AWS = ("aws", "--region", "us-east-1")


def pool(name: str, capacity: str, *types: str) -> Pool:
    return Pool(
        name=name,
        gpu="t4",
        gpus_per_node=1,
        capacity=capacity,
        zones=("us-east-1a", "us-east-1b"),
        instance_types=types,
        max_nodes=4,
        notice_seconds=90,
        spot_usd_per_hour=0.2,
        on_demand_usd_per_hour=0.526,
    )


POOLS = (
    pool("t4-spot", contract.CAPACITY_SPOT, "g4dn.xlarge", "g4dn.2xlarge"),
    pool("t4-paid", contract.CAPACITY_ON_DEMAND, "g4dn.xlarge"),
)


async def make(kube: Kube, name: str, data: dict[str, str] | None = None) -> None:
    """As the stack makes it: the prices without data."""
    metadata = {"name": name, "namespace": SYSTEM}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    await kube.create(kinds.CONFIG_MAPS, SYSTEM, {**body, **({"data": data} if data else {})})


async def remove(kube: Kube, name: str) -> None:
    try:
        found = await kube.get(kinds.CONFIG_MAPS, SYSTEM, name)
    except NotFound:
        return
    await kube.delete(kinds.CONFIG_MAPS, SYSTEM, name, uid=found["metadata"]["uid"])


@pytest.fixture
async def kube(server: ApiServer) -> AsyncIterator[Kube]:
    """A platform with pools, and prices that nobody has asked for yet."""
    async with server.client() as http:
        kube = server.kube(http)
        await install(kube)
        for document in yaml.safe_load_all((REPOSITORY / "k8s" / "prices.yaml").read_text()):
            await kube.apply(KINDS[document["kind"]], SYSTEM, document)
        await make(kube, contract.POOLS_CONFIGMAP, {contract.POOLS_KEY: pools_document(POOLS)})
        await make(kube, contract.PRICES_CONFIGMAP)
        yield kube
        for name in (contract.POOLS_CONFIGMAP, contract.PRICES_CONFIGMAP):
            await remove(kube, name)


@pytest.fixture
async def kubeconfig(kube: Kube, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """The refresher's own, with the token of its service account."""
    token = await request_token(kube, SYSTEM, contract.PRICES_REFRESHER, audience=ISSUER)
    path = str(server.kubeconfig(contract.PRICES_REFRESHER, token))
    monkeypatch.setenv("KUBECONFIG", path)
    return path


@pytest.fixture
def ec2(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An EC2 that answers every request in this process."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        yield


async def text_of(kube: Kube) -> str:
    found = await kube.get(kinds.CONFIG_MAPS, SYSTEM, contract.PRICES_CONFIGMAP)
    text: str = (found.get("data") or {}).get(contract.PRICES_KEY, "")
    return text


async def prices(kube: Kube) -> tuple[Price, ...]:
    return parse_prices(await text_of(kube))


async def test_one_run_prices_every_spot_pool_in_each_of_its_zones(
    kube: Kube, kubeconfig: str, ec2: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await asyncio.to_thread(main, AWS) == 0
    found = await prices(kube)
    assert [(p.pool, p.zone, p.instance_type) for p in found] == [
        ("t4-spot", zone, each)
        for zone in ("us-east-1a", "us-east-1b")
        for each in ("g4dn.xlarge", "g4dn.2xlarge")
    ]
    assert capsys.readouterr().out == "4 prices are new, 0 stay as they were\n"


async def test_a_price_without_news_keeps_its_time(kube: Kube, kubeconfig: str) -> None:
    """EC2 answers for one type only the second time."""
    first, second = (datetime.fromisoformat(f"2026-11-21T{hour}:00:00Z") for hour in (12, 13))

    def answer(pool: JobPool, now: datetime) -> list[Quote]:
        told = pool.instance_types if now == first else ["g4dn.xlarge"]
        usd = 0.2 if now == first else 0.3
        return [
            Quote(instance_type=each, zone=zone, usd_per_hour=usd, since=now)
            for each in told
            for zone in pool.zones
        ]

    with Client(config=KubeConfig.from_file(kubeconfig)) as client:
        for now in (first, second):
            await asyncio.to_thread(refresh, client, answer, now=now)
    told = {(p.instance_type, p.spot_usd_per_hour, p.at) for p in await prices(kube)}
    assert told == {("g4dn.xlarge", 0.3, second), ("g4dn.2xlarge", 0.2, first)}


@pytest.mark.parametrize("empty", [True, False], ids=["an-empty-answer", "a-refusal"])
async def test_a_bad_answer_leaves_the_prices_as_they_were(
    kube: Kube, kubeconfig: str, ec2: None, empty: bool
) -> None:
    assert await asyncio.to_thread(main, AWS) == 0
    before = await text_of(kube)

    def bad(pool: JobPool, now: datetime) -> list[Quote]:
        if empty:
            return []
        raise RefreshError("EC2 tells no spot prices: RequestLimitExceeded.")

    refused = pytest.raises(RefreshError, match="no spot price")
    with Client(config=KubeConfig.from_file(kubeconfig)) as client, refused:
        await asyncio.to_thread(refresh, client, bad)
    assert await text_of(kube) == before


async def test_prices_that_cannot_be_read_are_written_anew(
    kube: Kube, kubeconfig: str, ec2: None
) -> None:
    broken = {"data": {contract.PRICES_KEY: "- pool: [\n"}}
    await kube.patch(kinds.CONFIG_MAPS, SYSTEM, contract.PRICES_CONFIGMAP, broken)
    assert await asyncio.to_thread(main, AWS) == 0
    assert len(await prices(kube)) == 4


async def test_its_maker_applies_the_object_again_and_the_prices_stay(
    kube: Kube, kubeconfig: str, ec2: None
) -> None:
    """What Pulumi does at the next `pulumi up`: server-side apply without data."""
    assert await asyncio.to_thread(main, AWS) == 0
    labels = {"app.kubernetes.io/name": contract.PRICES_REFRESHER}
    metadata = {"name": contract.PRICES_CONFIGMAP, "namespace": SYSTEM, "labels": labels}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    await kube.apply(kinds.CONFIG_MAPS, SYSTEM, body)
    assert len(await prices(kube)) == 4


@pytest.mark.parametrize("name", [contract.POOLS_CONFIGMAP, contract.PRICES_CONFIGMAP])
async def test_an_object_that_is_gone_is_named_with_who_makes_it(
    kube: Kube, kubeconfig: str, ec2: None, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    await remove(kube, name)
    assert await asyncio.to_thread(main, AWS) == 1
    said = capsys.readouterr().err
    assert name in said
    assert "pulumi up" in said


async def test_pools_that_cannot_be_read_are_told_and_nothing_is_written(
    kube: Kube, kubeconfig: str, ec2: None, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = {"data": {contract.POOLS_KEY: "- name: t4-spot\n"}}
    await kube.patch(kinds.CONFIG_MAPS, SYSTEM, contract.POOLS_CONFIGMAP, broken)
    assert await asyncio.to_thread(main, AWS) == 1
    assert "is missing" in capsys.readouterr().err
    assert await text_of(kube) == ""


async def test_a_cluster_without_spot_pools_has_no_prices(
    kube: Kube, kubeconfig: str, ec2: None
) -> None:
    paid = {"data": {contract.POOLS_KEY: pools_document(POOLS[1:])}}
    await kube.patch(kinds.CONFIG_MAPS, SYSTEM, contract.POOLS_CONFIGMAP, paid)
    assert await asyncio.to_thread(main, AWS) == 0
    assert await prices(kube) == ()


async def test_the_refresher_may_touch_these_two_objects_and_no_other(
    kube: Kube, kubeconfig: str, server: ApiServer
) -> None:
    token = await request_token(kube, SYSTEM, contract.PRICES_REFRESHER, audience=ISSUER)
    metadata = {"metadata": {"labels": {"mine": "true"}}}
    async with server.client(token) as http:
        own = server.kube(http)
        for change in (
            own.patch(kinds.CONFIG_MAPS, SYSTEM, contract.POOLS_CONFIGMAP, metadata),
            own.list_all(kinds.CONFIG_MAPS, SYSTEM),
            own.list_all(kinds.SECRETS, SYSTEM),
            make(own, "another"),
        ):
            with pytest.raises(KubeError, match="403"):
                await change


async def test_without_rights_it_says_which_role_to_look_at(
    kube: Kube, kubeconfig: str, ec2: None, capsys: pytest.CaptureFixture[str]
) -> None:
    bindings = KINDS["RoleBinding"]
    binding = await kube.get(bindings, SYSTEM, contract.PRICES_REFRESHER)
    uid = binding["metadata"]["uid"]
    await kube.delete(bindings, SYSTEM, contract.PRICES_REFRESHER, uid=uid)
    while await asyncio.to_thread(main, AWS) == 0:
        pass  # the authorizer hears of it a moment later
    assert f"check the Role {contract.PRICES_REFRESHER}" in capsys.readouterr().err


async def test_a_cluster_that_does_not_answer_is_told(
    monkeypatch: pytest.MonkeyPatch,
    server: ApiServer,
    ec2: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = server.kubeconfig("nowhere", "none")
    path.write_text(path.read_text().replace(server.url, "https://127.0.0.1:1"))
    monkeypatch.setenv("KUBECONFIG", str(path))
    assert await asyncio.to_thread(main, AWS) == 1
    assert "the API server was not reached" in capsys.readouterr().err
