"""The ways to AWS services that need no NAT, as a component by itself."""

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Any, get_args

from components.aws.network.endpoints import Endpoints, EndpointsArgs
from stacks.aws.network_schema import Endpoint
from stacks.recorder import Recording, Registration

ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EVERY_SERVICE: tuple[str, ...] = get_args(Endpoint)


def endpoints(build: Any, tags: Mapping[str, str], *services: str) -> Recording:
    args = EndpointsArgs(
        region="eu-west-1",
        vpc_id="vpc",
        vpc_cidr=IPv4Network("10.0.0.0/16"),
        route_table_ids=["table-a", "table-b"],
        subnet_ids=["subnet-a", "subnet-b"],
        services=services,
        tags=tags,
    )
    recording: Recording = build(lambda: Endpoints("doors", args))
    return recording


def interfaces(recording: Recording) -> list[Registration]:
    found = recording.of_type(ENDPOINT)
    return [r for r in found if r.inputs["vpcEndpointType"] == "Interface"]


def test_s3_is_reached_from_every_private_subnet_without_asking(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    recording = endpoints(build, tags)
    gateway = find.one(recording, ENDPOINT).inputs
    assert gateway["serviceName"] == "com.amazonaws.eu-west-1.s3"
    assert gateway["vpcEndpointType"] == "Gateway"
    assert gateway["routeTableIds"] == ["table-a", "table-b"]
    assert recording.of_type(GROUP) == []  # nothing else is made


def test_no_endpoint_keeps_anybody_from_a_bucket_or_an_image(
    build: Any, tags: Mapping[str, str]
) -> None:
    made = endpoints(build, tags, *EVERY_SERVICE).of_type(ENDPOINT)
    assert [r.name for r in made if "policy" in r.inputs] == []


def test_every_service_that_a_stack_may_name_gets_its_usual_name_in_every_subnet(
    build: Any, tags: Mapping[str, str]
) -> None:
    made = interfaces(endpoints(build, tags, *EVERY_SERVICE))
    names = {r.inputs["serviceName"] for r in made}
    assert names == {f"com.amazonaws.eu-west-1.{service}" for service in EVERY_SERVICE}
    assert len(made) == len(EVERY_SERVICE) == 9
    assert all(r.inputs["privateDnsEnabled"] is True for r in made)
    assert all(r.inputs["subnetIds"] == ["subnet-a", "subnet-b"] for r in made)


def test_only_the_vpc_is_let_in_and_only_by_https(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    recording = endpoints(build, tags, "sts", "logs")
    rule = find.one(recording, INGRESS).inputs
    assert (rule["cidrIpv4"], rule["ipProtocol"]) == ("10.0.0.0/16", "tcp")
    assert rule["fromPort"] == rule["toPort"] == 443
    group = find.one(recording, GROUP)
    assert not {"ingress", "egress"} & group.inputs.keys()
    assert rule["securityGroupId"] == f"{group.name}-id"
    assert all(r.inputs["securityGroupIds"] == [f"{group.name}-id"] for r in interfaces(recording))


def test_nobody_is_sent_to_an_endpoint_that_does_not_let_him_in_yet(
    build: Any, tags: Mapping[str, str]
) -> None:
    """Its private name works as soon as it exists."""
    made = interfaces(endpoints(build, tags, "sts", "logs"))
    assert len(made) == 2
    assert all(any(d.endswith("::doors-from-vpc") for d in r.depends_on) for r in made)


def test_one_more_endpoint_leaves_the_others_as_they_are(
    build: Any, tags: Mapping[str, str]
) -> None:
    few, more = endpoints(build, tags, "logs"), endpoints(build, tags, "sts", "logs")
    after = {r.urn: r.inputs for r in more.resources}
    assert [r.name for r in few.resources if after[r.urn] != r.inputs] == []
