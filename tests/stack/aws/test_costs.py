"""Prices: the table is consistent, and the arithmetic is the bill's."""

import re
from collections.abc import Sequence
from typing import Any

import pytest

from stacks.aws import services
from stacks.aws.cluster_schema import Pool
from stacks.aws.costs import bill, fixed_costs, pool_price
from stacks.aws.instances import GpuInstance, gpu_catalog
from stacks.aws.schema import AwsSettings
from stacks.aws.services import service_catalog, service_prices
from stacks.preview import ROOT
from stacks.schema import parse
from stacks.stack_file import read_config

COST_PAGE, README = ROOT / "docs" / "stack-cost.md", ROOT / "README.md"
INSTANCES = [pytest.param(i, id=i.name) for i in gpu_catalog().types.values()]


def settings(**changed: Any) -> AwsSettings:
    parsed = parse({**read_config("dev")["settings"], **changed}, source="dev")
    assert isinstance(parsed, AwsSettings)
    return parsed


def a_pool(*types: str) -> Pool:
    given = {"name": "t4", "gpu": "t4", "gpus_per_node": 1, "max_nodes": 1}
    return Pool.model_validate({**given, "instance_types": types})


@pytest.mark.parametrize("instance", INSTANCES)
def test_an_instance_type_is_plausible(instance: GpuInstance) -> None:
    assert instance.gpus in (1, 2, 4, 8)
    assert 4 <= instance.memory_gib / instance.vcpu <= 12
    assert 0.15 <= instance.typical_spot_usd_per_hour / instance.on_demand_usd_per_hour <= 0.6


def test_prices_say_where_and_when_they_are_from() -> None:
    for catalog in (gpu_catalog(), service_catalog()):
        assert catalog.source == "AWS public list prices"
        assert catalog.as_of.startswith("20")


def test_a_larger_type_never_costs_less_a_gpu_of_the_same_kind() -> None:
    by_kind: dict[tuple[str, int], list[GpuInstance]] = {}
    for instance in gpu_catalog().types.values():
        by_kind.setdefault((instance.gpu, instance.gpus), []).append(instance)
    for instances in by_kind.values():
        sized = sorted(instances, key=lambda i: i.vcpu)
        prices = [i.on_demand_usd_per_hour for i in sized]
        assert prices == sorted(prices)


def test_a_pool_is_priced_by_its_first_type_in_its_region() -> None:
    here = pool_price(a_pool("g4dn.xlarge", "g4dn.2xlarge"), settings())
    assert (here.instance_type, here.on_demand_usd_per_hour) == ("g4dn.xlarge", 0.526)
    assert here.spot_usd_per_hour == 0.184
    zones = ["eu-central-1a", "eu-central-1b"]
    frankfurt = settings(region="eu-central-1", zones=zones)
    there = pool_price(a_pool("g4dn.xlarge"), frankfurt)
    assert there.on_demand_usd_per_hour == pytest.approx(0.526 * 1.25, abs=1e-3)


def test_the_fixed_cost_follows_what_the_program_builds() -> None:
    one = {c.what: c.usd_per_month for c in fixed_costs(settings(), {})}
    counts = {"aws:ec2/natGateway:NatGateway": 3, "aws:kms/key:Key": 2}
    many = {c.what: c.usd_per_month for c in fixed_costs(settings(), counts)}
    assert one["EKS control plane"] == many["EKS control plane"] == 73.0
    assert (one["NAT gateways"], many["NAT gateways"]) == (0, 98.55)
    assert many["KMS keys"] == 2.0
    assert many["Managers, m7i-flex.large"] == pytest.approx(2 * 0.09576 * 730, abs=0.01)


FRANKFURT = {"region": "eu-central-1", "zones": ["eu-central-1a", "eu-central-1b"]}
EVERY_USE = {"aws:ecr/repository:Repository": 3}


def dollars(notes: Sequence[str]) -> list[float]:
    return [float(found) for note in notes for found in re.findall(r"\$([0-9.]+\d)", note)]


def test_what_comes_with_use_costs_what_its_region_costs() -> None:
    storage = {"throughput": "elastic", "backup": True, "bucket": True}
    home = bill(settings(storage=storage), {}).usage
    there = bill(settings(**FRANKFURT, storage=storage), {}).usage
    factor = gpu_catalog().region_factors["eu-central-1"]
    assert len(home) == len(there)
    for here, abroad in zip(dollars(home), dollars(there), strict=True):
        assert abroad == pytest.approx(here * factor, abs=0.006)


def test_what_costs_the_same_everywhere_is_not_scaled() -> None:
    home, there = service_prices("us-east-1"), service_prices("eu-central-1")
    assert home == service_catalog()
    assert there.usd_per_hour.eks_cluster == home.usd_per_hour.eks_cluster
    assert there.usd_per_gb.ecr_month == home.usd_per_gb.ecr_month
    factor = gpu_catalog().region_factors["eu-central-1"]
    assert there.managers["m7i.large"].usd_per_hour == pytest.approx(0.1008 * factor)


def test_only_what_a_stack_has_is_said_to_come_with_use() -> None:
    network = read_config("dev")["settings"]["network"]
    little = " ".join(bill(settings(cluster={"log_types": []}), {}).usage)
    assert not any(word in little for word in ("endpoint", "Logs", "ECR", "Backups"))
    asked = settings(network={**network, "endpoints": ["sts"], "flow_log_days": 7})
    much = " ".join(bill(asked, EVERY_USE).usage)
    assert "interface endpoints $0.010 per GB" in much
    assert "Logs (control plane, network flow)" in much
    assert "ECR $0.10" in much


def test_the_root_disk_is_priced_at_the_sizes_of_the_pools() -> None:
    first = read_config("dev")["settings"]["pools"][0]
    pools = [first, {**first, "name": "large", "disk_gib": 500}]
    (note,) = [note for note in bill(settings(pools=pools), {}).usage if "root disk" in note]
    assert re.search(r"of 100 GB \$0\.018, 500 GB \$0\.0\d+ an hour", note)


def test_each_date_of_a_price_stands_in_its_table_alone() -> None:
    """Whoever refreshes a table changes one line, and every page follows."""
    source = bill(settings(), {}).source
    assert f"GPU nodes as of {gpu_catalog().as_of}" in source
    assert f"all else as of {service_catalog().as_of}" in source
    assert services.FILE.read_text().count(service_catalog().as_of) == 1
    dates = set(re.findall(r"as of (20\d\d-\d\d)", COST_PAGE.read_text() + README.read_text()))
    assert dates == {gpu_catalog().as_of, service_catalog().as_of}


def test_the_most_that_pools_cost_counts_every_zone_and_the_twins() -> None:
    first = {**read_config("dev")["settings"]["pools"][0], "on_demand_max_nodes": 2}
    asked = bill(settings(pools=[first]), {})
    assert [pool.most_nodes for pool in asked.pools] == [16, 4]
    assert asked.most_usd_per_hour == pytest.approx(16 * 0.184 + 4 * 0.526)
    assert asked.most_listed_usd_per_hour == pytest.approx(20 * 0.526)
    assert asked.most_usd_per_month == pytest.approx(asked.usd_per_month + 730 * 20 * 0.526)


def test_an_interface_endpoint_is_billed_in_each_zone() -> None:
    network = {**read_config("dev")["settings"]["network"], "endpoints": ["sts", "logs", "ec2"]}
    lines = {c.what: c for c in fixed_costs(settings(network=network), {})}
    endpoints = lines["Interface endpoints, in each zone"]
    assert endpoints.quantity == "6"  # three in two zones
    assert endpoints.usd_per_month == pytest.approx(6 * 0.01 * 730)
    assert not any("endpoint" in c.what for c in fixed_costs(settings(), {}))
