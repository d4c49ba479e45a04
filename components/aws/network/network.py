"""The VPC."""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
import pulumi_aws as aws

from components.aws.network.endpoints import Endpoints, EndpointsArgs
from components.aws.network.flow_logs import FlowLogs, FlowLogsArgs
from components.aws.network.subnets import ZoneBlocks, zone_blocks

ANYWHERE = "0.0.0.0/0"


@dataclass(frozen=True, kw_only=True)
class NetworkArgs:
    region: str
    cidr: IPv4Network
    zones: tuple[str, ...]
    """A single NAT gateway stands in the first."""
    nat_per_zone: bool
    endpoints: tuple[str, ...]
    """AWS services that nodes reach inside the VPC."""
    flow_log_days: int | None
    """How long records of connections are kept; None: there are none."""
    tags: Mapping[str, str]


class Network(pulumi.ComponentResource):
    """A VPC with a public and a private subnet per zone; nodes and pods live in the private ones.

    Private subnets reach the internet by NAT, and S3 (image layers, data sets) beside it, which
    keeps that traffic off the NAT's bill.
    """

    vpc_id: pulumi.Output[str]
    account: pulumi.Output[str]
    """The account that owns it."""
    private_subnet_ids: Mapping[str, pulumi.Output[str]]
    """Zone -> subnet."""
    ready: tuple[pulumi.Resource, ...]
    """Nodes can reach AWS and the internet once these exist."""

    def __init__(
        self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:Network", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        vpc = aws.ec2.Vpc(
            f"{name}-vpc",
            cidr_block=str(args.cidr),
            enable_dns_hostnames=True,  # EFS mount targets and private endpoints have names
            enable_dns_support=True,
            tags=self._tags("vpc"),
            opts=self._child,
        )
        # Adopts the VPC's default group without rules, so that nothing is open by forgetting one.
        aws.ec2.DefaultSecurityGroup(
            f"{name}-default", vpc_id=vpc.id, tags=self._tags("unused"), opts=self._child
        )
        internet = aws.ec2.InternetGateway(
            f"{name}-internet", vpc_id=vpc.id, tags=self._tags("internet"), opts=self._child
        )
        # A gateway with mapped addresses cannot be detached: what has one goes first.
        self._after_internet = pulumi.ResourceOptions(parent=self, depends_on=[internet])
        blocks = zone_blocks(args.cidr, args.zones)
        gateways = self._nat_gateways(self._public_zones(vpc, internet, blocks))
        private = {
            zone: self._private_zone(vpc, zone, block, gateways[zone])
            for zone, block in blocks.items()
        }
        if args.flow_log_days:
            self._flow_logs(vpc, args.flow_log_days)
        self.vpc_id, self.account = vpc.id, vpc.owner_id
        self.private_subnet_ids = {name: zone.subnet.id for name, zone in private.items()}
        routes = [resource for zone in private.values() for resource in zone.ways_out]
        self.ready = (*routes, *self._endpoints([zone.table.id for zone in private.values()]).ready)
        self.register_outputs({"vpc_id": self.vpc_id})

    def _endpoints(self, route_table_ids: list[pulumi.Output[str]]) -> Endpoints:
        args = EndpointsArgs(
            region=self._args.region,
            vpc_id=self.vpc_id,
            vpc_cidr=self._args.cidr,
            route_table_ids=route_table_ids,
            subnet_ids=list(self.private_subnet_ids.values()),
            services=self._args.endpoints,
            tags=self._args.tags,
        )
        return Endpoints(f"{self._name}-endpoints", args, self._child)

    def _flow_logs(self, vpc: aws.ec2.Vpc, days: int) -> FlowLogs:
        args = FlowLogsArgs(
            region=self._args.region,
            vpc_id=vpc.id,
            account=vpc.owner_id,
            days=days,
            tags=self._args.tags,
        )
        return FlowLogs(f"{self._name}-flow-logs", args, self._child)

    def _tags(self, role: str, **more: str) -> dict[str, str]:
        return {**self._args.tags, "Name": f"{self._args.tags['stack']}-{role}", **more}

    def _public_zones(
        self,
        vpc: aws.ec2.Vpc,
        internet: aws.ec2.InternetGateway,
        blocks: Mapping[str, ZoneBlocks],
    ) -> dict[str, "_Zone"]:
        table = aws.ec2.RouteTable(
            f"{self._name}-public", vpc_id=vpc.id, tags=self._tags("public"), opts=self._child
        )
        route = aws.ec2.Route(
            f"{self._name}-public-out",
            route_table_id=table.id,
            destination_cidr_block=ANYWHERE,
            gateway_id=internet.id,
            opts=self._child,
        )
        zones = {}
        for zone, block in blocks.items():
            subnet = aws.ec2.Subnet(
                f"{self._name}-public-{zone}",
                vpc_id=vpc.id,
                availability_zone=zone,
                cidr_block=str(block.public),
                map_public_ip_on_launch=False,
                tags=self._tags(f"public-{zone}", **{"kubernetes.io/role/elb": "1"}),
                opts=self._child,
            )
            association = aws.ec2.RouteTableAssociation(
                f"{self._name}-public-{zone}",
                subnet_id=subnet.id,
                route_table_id=table.id,
                opts=self._child,
            )
            zones[zone] = _Zone(subnet=subnet, table=table, ways_out=(route, association))
        return zones

    def _nat_gateways(self, public: Mapping[str, "_Zone"]) -> dict[str, aws.ec2.NatGateway]:
        """Zone -> the gateway that its nodes use."""
        first = self._args.zones[0]  # as written: a zone added later moves no gateway
        homes = public if self._args.nat_per_zone else [first]
        gateways = {zone: self._nat_gateway(zone, public[zone]) for zone in homes}
        return {zone: gateways.get(zone, gateways[first]) for zone in public}

    def _nat_gateway(self, zone: str, public: "_Zone") -> aws.ec2.NatGateway:
        address = aws.ec2.Eip(
            f"{self._name}-nat-{zone}",
            domain="vpc",
            tags=self._tags(f"nat-{zone}"),
            opts=self._after_internet,
        )
        return aws.ec2.NatGateway(
            f"{self._name}-nat-{zone}",
            subnet_id=public.subnet.id,
            allocation_id=address.id,
            tags=self._tags(f"nat-{zone}"),
            opts=pulumi.ResourceOptions.merge(
                self._after_internet,
                # It leads nowhere without them. Nobody else waits for them, so a destroy would
                # begin with them and cut off every node: interfaces and disks stay behind then.
                pulumi.ResourceOptions(depends_on=list(public.ways_out)),
            ),
        )

    def _private_zone(
        self, vpc: aws.ec2.Vpc, zone: str, block: ZoneBlocks, gateway: aws.ec2.NatGateway
    ) -> "_Zone":
        name = f"{self._name}-private-{zone}"
        subnet = aws.ec2.Subnet(
            name,
            vpc_id=vpc.id,
            availability_zone=zone,
            cidr_block=str(block.private),
            tags=self._tags(f"private-{zone}", **{"kubernetes.io/role/internal-elb": "1"}),
            opts=self._child,
        )
        table = aws.ec2.RouteTable(
            name, vpc_id=vpc.id, tags=self._tags(f"private-{zone}"), opts=self._child
        )
        route = aws.ec2.Route(
            f"{name}-out",
            route_table_id=table.id,
            destination_cidr_block=ANYWHERE,
            nat_gateway_id=gateway.id,
            opts=self._child,
        )
        association = aws.ec2.RouteTableAssociation(
            name, subnet_id=subnet.id, route_table_id=table.id, opts=self._child
        )
        return _Zone(subnet=subnet, table=table, ways_out=(route, association))


@dataclass(frozen=True, kw_only=True)
class _Zone:
    """The public or the private half of a zone."""

    subnet: aws.ec2.Subnet
    table: aws.ec2.RouteTable
    ways_out: tuple[pulumi.Resource, ...]
