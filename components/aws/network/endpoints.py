"""The ways to AWS services that need no NAT."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
import pulumi_aws as aws


@dataclass(frozen=True, kw_only=True)
class EndpointsArgs:
    region: str
    vpc_id: pulumi.Input[str]
    vpc_cidr: IPv4Network
    route_table_ids: Sequence[pulumi.Input[str]]
    """Of the private subnets: from them S3 is reached."""
    subnet_ids: Sequence[pulumi.Input[str]]
    """The private subnets: each interface endpoint has an address in every one."""
    services: Sequence[str]
    """What to reach by an interface endpoint: names that follow `com.amazonaws.<region>.`"""
    tags: Mapping[str, str]


class Endpoints(pulumi.ComponentResource):
    """S3 by a gateway endpoint, always, as it is free; other services on request.

    An interface endpoint takes over the service's usual name inside the VPC, so no client has to
    know of it. None has a policy: nodes also reach S3 and every service through the NAT, so a
    policy would close nothing, while a list of buckets would break image layers (they come from
    AWS's own buckets) and public data sets. Who may do what stands in the roles.
    """

    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: EndpointsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:Endpoints", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        gateway = aws.ec2.VpcEndpoint(
            f"{name}-s3",
            vpc_id=args.vpc_id,
            service_name=f"com.amazonaws.{args.region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=args.route_table_ids,
            tags=self._tags("s3"),
            opts=self._child,
        )
        self.ready = (gateway, *(self._interfaces() if args.services else ()))
        self.register_outputs({})

    def _interfaces(self) -> list[aws.ec2.VpcEndpoint]:
        group = aws.ec2.SecurityGroup(
            f"{self._name}-users",
            description="Who may use the interface endpoints",
            vpc_id=self._args.vpc_id,
            tags=self._tags("endpoints"),
            opts=self._child,
        )
        admitted = aws.vpc.SecurityGroupIngressRule(
            f"{self._name}-from-vpc",
            security_group_id=group.id,
            description="HTTPS from the VPC",
            cidr_ipv4=str(self._args.vpc_cidr),
            ip_protocol="tcp",
            from_port=443,
            to_port=443,
            tags=dict(self._args.tags),
            opts=self._child,
        )
        # It takes over the service's name at once: whoever is not admitted by then is cut off.
        after = pulumi.ResourceOptions(parent=self, depends_on=[admitted])
        return [
            aws.ec2.VpcEndpoint(
                f"{self._name}-{service}",
                vpc_id=self._args.vpc_id,
                service_name=f"com.amazonaws.{self._args.region}.{service}",
                vpc_endpoint_type="Interface",
                private_dns_enabled=True,
                subnet_ids=self._args.subnet_ids,
                security_group_ids=[group.id],
                tags=self._tags(service),
                opts=after,
            )
            for service in self._args.services
        ]

    def _tags(self, role: str) -> dict[str, str]:
        return {**self._args.tags, "Name": f"{self._args.tags['stack']}-{role}"}
