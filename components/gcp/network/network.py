"""The VPC network."""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
import pulumi_gcp as gcp

PODS, SERVICES = "pods", "services"
"""Names of the ranges in the subnet."""


@dataclass(frozen=True, kw_only=True)
class NetworkArgs:
    region: str
    cidr: IPv4Network
    pod_cidr: IPv4Network
    service_cidr: IPv4Network
    flow_logs: bool
    retain: bool
    """Whether it outlives the stack, for a file system that does and cannot leave it."""
    after: Sequence[pulumi.Resource]
    """The API that makes networks."""


class Network(pulumi.ComponentResource):
    """A network with one subnet in the region: for nodes, and in ranges of their own for pods and
    Services.

    Nodes have no public address. They reach Google's APIs, and so images and buckets, beside the
    NAT gateway, and everything else through it. Nobody comes in: a network of Google's refuses what
    no firewall rule allows, and GKE makes its own for its control plane.
    """

    name: pulumi.Output[str]
    id: pulumi.Output[str]
    subnet_id: pulumi.Output[str]
    ready: tuple[pulumi.Resource, ...]
    """Nodes can reach the internet once these exist."""

    def __init__(
        self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:gcp:Network", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        self._kept = pulumi.ResourceOptions(parent=self, retain_on_delete=args.retain)
        network = gcp.compute.Network(
            f"{name}-vpc",
            auto_create_subnetworks=False,
            routing_mode="REGIONAL",
            opts=pulumi.ResourceOptions.merge(
                self._kept, pulumi.ResourceOptions(depends_on=list(args.after))
            ),
        )
        subnet = self._subnet(network)
        self.name, self.id, self.subnet_id = network.name, network.id, subnet.id
        self.ready = (subnet, self._nat(network))
        self.register_outputs({"id": self.id})

    def _subnet(self, network: gcp.compute.Network) -> gcp.compute.Subnetwork:
        args = self._args
        ranges = {PODS: args.pod_cidr, SERVICES: args.service_cidr}
        logs = gcp.compute.SubnetworkLogConfigArgs(
            aggregation_interval="INTERVAL_10_MIN", flow_sampling=0.5
        )
        return gcp.compute.Subnetwork(
            f"{self._name}-nodes",
            network=network.id,
            region=args.region,
            ip_cidr_range=str(args.cidr),
            private_ip_google_access=True,
            secondary_ip_ranges=[
                gcp.compute.SubnetworkSecondaryIpRangeArgs(
                    range_name=each, ip_cidr_range=str(block)
                )
                for each, block in ranges.items()
            ],
            log_config=logs if args.flow_logs else None,
            opts=self._kept,
        )

    def _nat(self, network: gcp.compute.Network) -> gcp.compute.RouterNat:
        router = gcp.compute.Router(
            f"{self._name}-router",
            network=network.id,
            region=self._args.region,
            opts=self._child,
        )
        return gcp.compute.RouterNat(
            f"{self._name}-nat",
            router=router.name,
            region=self._args.region,
            nat_ip_allocate_option="AUTO_ONLY",
            source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES",
            # A node that loads a data set opens more connections to one address than the 64 that
            # it has by default.
            enable_dynamic_port_allocation=True,
            enable_endpoint_independent_mapping=False,
            min_ports_per_vm=64,
            max_ports_per_vm=4096,
            log_config=gcp.compute.RouterNatLogConfigArgs(enable=True, filter="ERRORS_ONLY"),
            opts=self._child,
        )
