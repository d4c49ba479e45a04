"""On-demand nodes for everything that must not be taken back."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import pulumi
import pulumi_gcp as gcp

from components.gcp.nodes.node_config import longest_change, pool_config
from components.gcp.reference import ClusterReference, Place
from spotrain import contract


@dataclass(frozen=True, kw_only=True)
class ManagersShape:
    """What a stack file decides about managers."""

    machine_type: str
    min_nodes: int
    max_nodes: int
    disk_gib: int


@dataclass(frozen=True, kw_only=True)
class ManagersArgs:
    shape: ManagersShape
    zones: tuple[str, ...]
    cluster: ClusterReference
    place: Place
    account: pulumi.Input[str]
    after: Sequence[pulumi.Resource]
    """What a node needs to join."""


class Managers(pulumi.ComponentResource):
    """A node pool without a taint: the controller and the cluster's own services live here."""

    pool: gcp.container.NodePool

    def __init__(
        self, name: str, args: ManagersArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:gcp:Managers", name, {}, opts)
        shape, c = args.shape, gcp.container
        self.pool = c.NodePool(
            f"{name}-pool",
            cluster=args.cluster.name,
            location=args.cluster.location,
            node_locations=list(args.zones),
            # In each zone, and at the beginning only.
            initial_node_count=ceil(shape.min_nodes / len(args.zones)),
            autoscaling=c.NodePoolAutoscalingArgs(
                total_min_node_count=shape.min_nodes,
                total_max_node_count=shape.max_nodes,
                location_policy="BALANCED",
            ),
            ignore_node_count_changes=True,
            network_config=c.NodePoolNetworkConfigArgs(enable_private_nodes=True),
            node_config=c.NodePoolNodeConfigArgs(
                machine_type=shape.machine_type,
                disk_size_gb=shape.disk_gib,
                labels={contract.LABEL_ROLE: contract.ROLE_MANAGER},
                resource_labels={**args.place.labels, "pool": "managers"},
                kubelet_config=c.NodePoolNodeConfigKubeletConfigArgs(
                    insecure_kubelet_readonly_port_enabled="FALSE"
                ),
                **pool_config(args.account),
            ),
            management=c.NodePoolManagementArgs(auto_repair=True, auto_upgrade=True),
            # A new node first, then an old one goes: what runs here always has a place.
            upgrade_settings=c.NodePoolUpgradeSettingsArgs(max_surge=1, max_unavailable=0),
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=list(args.after),
                ignore_changes=["initialNodeCount"],
                custom_timeouts=longest_change(shape.max_nodes),
            ),
        )
        self.register_outputs({})
