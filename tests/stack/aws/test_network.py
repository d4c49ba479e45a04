"""The VPC, as a component by itself."""

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Any

import pytest

from components.aws.network import Network, NetworkArgs
from stacks.recorder import Recording

SUBNET, ROUTE = "aws:ec2/subnet:Subnet", "aws:ec2/route:Route"
NAT, ENDPOINT = "aws:ec2/natGateway:NatGateway", "aws:ec2/vpcEndpoint:VpcEndpoint"
ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")


def network(
    build: Any, tags: Mapping[str, str], *, nat_per_zone: bool, zones: tuple[str, ...] = ZONES
) -> Recording:
    args = NetworkArgs(
        region="us-east-1",
        cidr=IPv4Network("10.0.0.0/16"),
        zones=zones,
        nat_per_zone=nat_per_zone,
        tags=tags,
    )
    recording: Recording = build(lambda: Network("network", args))
    return recording


@pytest.mark.parametrize(
    ("nat_per_zone", "gateways"),
    [
        pytest.param(False, {"network-nat-us-east-1a-id"}, id="single"),
        pytest.param(True, {f"network-nat-{zone}-id" for zone in ZONES}, id="per-zone"),
    ],
)
def test_every_private_zone_leaves_by_nat(
    build: Any, tags: Mapping[str, str], nat_per_zone: bool, gateways: set[str]
) -> None:
    recording = network(build, tags, nat_per_zone=nat_per_zone)
    private = [r for r in recording.of_type(ROUTE) if r.name.startswith("network-private")]
    assert {r.inputs["natGatewayId"] for r in private} == gateways
    assert len(private) == len(ZONES)
    assert len(recording.of_type(NAT)) == len(gateways)


def test_with_nat_per_zone_no_zone_depends_on_another(build: Any, tags: Mapping[str, str]) -> None:
    recording = network(build, tags, nat_per_zone=True)
    for route in recording.of_type(ROUTE):
        if "natGatewayId" in route.inputs:
            zone = route.name.removeprefix("network-private-").removesuffix("-out")
            assert route.inputs["natGatewayId"] == f"network-nat-{zone}-id"


def test_only_public_subnets_route_to_the_internet_gateway(
    build: Any, tags: Mapping[str, str]
) -> None:
    recording = network(build, tags, nat_per_zone=False)
    direct = [r.name for r in recording.of_type(ROUTE) if "gatewayId" in r.inputs]
    assert direct == ["network-public-out"]
    assert not any(r.inputs.get("mapPublicIpOnLaunch") for r in recording.of_type(SUBNET))


def test_s3_is_reached_from_every_private_zone_without_nat(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    endpoint = find.one(network(build, tags, nat_per_zone=False), ENDPOINT).inputs
    assert endpoint["serviceName"] == "com.amazonaws.us-east-1.s3"
    assert endpoint["vpcEndpointType"] == "Gateway"
    assert set(endpoint["routeTableIds"]) == {f"network-private-{zone}-id" for zone in ZONES}


def test_the_default_security_group_admits_nobody(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    group = find.one(
        network(build, tags, nat_per_zone=False),
        "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup",
    )
    assert not {"ingress", "egress"} & group.inputs.keys()


def test_a_new_zone_leaves_the_others_as_they_are(build: Any, tags: Mapping[str, str]) -> None:
    few = network(build, tags, nat_per_zone=True, zones=ZONES[1:])
    more = network(build, tags, nat_per_zone=True, zones=ZONES)
    shared = {"aws:ec2/vpcEndpoint:VpcEndpoint"}  # it lists every route table
    after = {r.urn: r.inputs for r in more.resources}
    changed = [r.name for r in few.resources if after[r.urn] != r.inputs and r.type not in shared]
    assert changed == []


def test_addresses_are_released_before_the_internet_gateway(
    build: Any, tags: Mapping[str, str]
) -> None:
    recording = network(build, tags, nat_per_zone=True)
    mapped = [*recording.of_type(NAT), *recording.of_type("aws:ec2/eip:Eip")]
    assert all(any("network-internet" in d for d in r.depends_on) for r in mapped)
