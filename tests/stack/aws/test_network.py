"""The VPC, as a component by itself."""

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Any

import pytest

from components.aws.network.network import Network, NetworkArgs
from stacks.recorder import Recording

SUBNET, ROUTE = "aws:ec2/subnet:Subnet", "aws:ec2/route:Route"
NAT, ENDPOINT = "aws:ec2/natGateway:NatGateway", "aws:ec2/vpcEndpoint:VpcEndpoint"
FLOW = "aws:ec2/flowLog:FlowLog"
ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")


def network(
    build: Any,
    tags: Mapping[str, str],
    *,
    nat_per_zone: bool = False,
    zones: tuple[str, ...] = ZONES,
    endpoints: tuple[str, ...] = (),
    flow_log_days: int | None = None,
) -> Recording:
    args = NetworkArgs(
        region="us-east-1",
        cidr=IPv4Network("10.0.0.0/16"),
        zones=zones,
        nat_per_zone=nat_per_zone,
        endpoints=endpoints,
        flow_log_days=flow_log_days,
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
    recording = network(build, tags)
    direct = [r.name for r in recording.of_type(ROUTE) if "gatewayId" in r.inputs]
    assert direct == ["network-public-out"]
    assert not any(r.inputs.get("mapPublicIpOnLaunch") for r in recording.of_type(SUBNET))


def test_every_private_zone_reaches_s3_and_what_else_is_asked_for_without_nat(
    build: Any, tags: Mapping[str, str]
) -> None:
    recording = network(build, tags, endpoints=("ecr.api", "ecr.dkr"))
    private = {f"network-private-{zone}-id" for zone in ZONES}
    reached = {
        r.name: set(r.inputs.get("routeTableIds") or r.inputs["subnetIds"])
        for r in recording.of_type(ENDPOINT)
    }
    names = ("s3", "ecr.api", "ecr.dkr")
    assert reached == {f"network-endpoints-{name}": private for name in names}


def test_connections_are_recorded_only_on_request(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    assert network(build, tags).of_type(FLOW) == []
    flow = find.one(network(build, tags, flow_log_days=30), FLOW).inputs
    assert flow["vpcId"] == "network-vpc-id"


def test_load_balancers_find_their_subnets(build: Any, tags: Mapping[str, str]) -> None:
    found: dict[str, set[str]] = {"kubernetes.io/role/elb": set()}
    for subnet in network(build, tags).of_type(SUBNET):
        for key, value in subnet.inputs["tags"].items():
            if key.startswith("kubernetes.io/role/"):
                assert value == "1"
                found.setdefault(key, set()).add(subnet.name)
    assert found == {
        "kubernetes.io/role/elb": {f"network-public-{zone}" for zone in ZONES},
        "kubernetes.io/role/internal-elb": {f"network-private-{zone}" for zone in ZONES},
    }


def test_the_default_security_group_admits_nobody(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    group = find.one(
        network(build, tags),
        "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup",
    )
    assert not {"ingress", "egress"} & group.inputs.keys()


@pytest.mark.parametrize("nat_per_zone", [False, True], ids=["single", "per-zone"])
def test_a_new_zone_leaves_the_others_as_they_are(
    build: Any, tags: Mapping[str, str], nat_per_zone: bool
) -> None:
    """A single NAT gateway stays where it is too: it stands in the zone that is written first."""
    few = network(build, tags, nat_per_zone=nat_per_zone, zones=ZONES[1:])
    more = network(build, tags, nat_per_zone=nat_per_zone, zones=(*ZONES[1:], ZONES[0]))
    shared = {ENDPOINT}  # it lists every route table
    after = {r.urn: r.inputs for r in more.resources}
    changed = [r.name for r in few.resources if after[r.urn] != r.inputs and r.type not in shared]
    assert changed == []
    assert len(more.resources) > len(few.resources)


def test_whoever_waits_for_the_network_waits_for_every_route_and_endpoint(
    build: Any, tags: Mapping[str, str]
) -> None:
    kept: list[Network] = []
    args = NetworkArgs(
        region="us-east-1",
        cidr=IPv4Network("10.0.0.0/16"),
        zones=ZONES,
        nat_per_zone=True,
        endpoints=("sts",),
        flow_log_days=None,
        tags=tags,
    )
    build(lambda: kept.append(Network("network", args)))
    names = {resource.pulumi_resource_name for resource in kept[0].ready}
    wanted = {f"network-private-{zone}{end}" for zone in ZONES for end in ("", "-out")}
    assert names == wanted | {"network-endpoints-s3", "network-endpoints-sts"}


def test_addresses_are_released_before_the_internet_gateway(
    build: Any, tags: Mapping[str, str]
) -> None:
    recording = network(build, tags, nat_per_zone=True)
    mapped = [*recording.of_type(NAT), *recording.of_type("aws:ec2/eip:Eip")]
    assert all(any("network-internet" in d for d in r.depends_on) for r in mapped)
