"""Prices: the table is consistent, and the arithmetic is the bill's."""

import pytest

from stacks.aws.cluster_schema import Pool
from stacks.aws.costs import fixed_costs, pool_price
from stacks.aws.instances import GpuInstance, gpu_catalog
from stacks.aws.schema import AwsSettings
from stacks.aws.services import service_catalog
from stacks.schema import parse
from stacks.stack_file import read_config

INSTANCES = [pytest.param(i, id=i.name) for i in gpu_catalog().types.values()]


def settings(**changed: object) -> AwsSettings:
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


def test_an_interface_endpoint_is_billed_in_each_zone() -> None:
    network = {**read_config("dev")["settings"]["network"], "endpoints": ["sts", "logs", "ec2"]}
    lines = {c.what: c for c in fixed_costs(settings(network=network), {})}
    endpoints = lines["Interface endpoints, in each zone"]
    assert endpoints.quantity == "6"  # three in two zones
    assert endpoints.usd_per_month == pytest.approx(6 * 0.01 * 730)
    assert not any("endpoint" in c.what for c in fixed_costs(settings(), {}))
