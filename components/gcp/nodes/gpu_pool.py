"""One GPU pool: a node pool per zone, none of it running until a job needs it."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp

from components.cloud import Pool
from components.gcp.network.ranges import PODS_PER_GPU_NODE
from components.gcp.nodes.node_config import longest_change, pool_config
from components.gcp.reference import ClusterReference, Place
from spotrain import contract

TAINT_EFFECTS = {"NoSchedule": "NO_SCHEDULE"}
"""Kubernetes' word -> GKE's."""
SHUTDOWN_SECONDS, CRITICAL_SECONDS = 120, 15
"""Of a spot node: all of Google's notice, and how much of it at the end is for the pods that keep
the node alive. GKE's own defaults, 30 and 15, leave a worker 15 seconds."""
NOTICE_SECONDS = {
    contract.CAPACITY_SPOT: SHUTDOWN_SECONDS - CRITICAL_SECONDS,
    contract.CAPACITY_ON_DEMAND: 300,
}
"""On demand nobody takes a node back: an upgrade or a scale-down waits as long as the pod asks."""


@dataclass(frozen=True, kw_only=True)
class PoolShape:
    """What a stack file decides about a pool."""

    pool: Pool
    machine_type: str
    accelerator: str
    """The GPU, as Google names it."""
    disk_gib: int
    local_ssds: int
    """Disks that the machine brings."""
    compact: bool
    """Nodes of a zone stand close to each other."""


@dataclass(frozen=True, kw_only=True)
class GpuPoolArgs:
    shape: PoolShape
    cluster: ClusterReference
    place: Place
    account: pulumi.Input[str]
    after: Sequence[pulumi.Resource]
    """What a node needs to join."""


class GpuPool(pulumi.ComponentResource):
    """One node pool per zone, tainted and labelled, from zero to the pool's limit, with the GPU's
    driver and device plugin by GKE.

    A node pool never spans zones: all workers of a job stay in one. How many nodes it has, only
    GKE's autoscaler says: a count beside it would be drift, and replace the pool.
    """

    pool: Pool
    node_pools: tuple[gcp.container.NodePool, ...]

    def __init__(
        self, name: str, args: GpuPoolArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:gcp:GpuPool", name, {}, opts)
        self.pool, self._name, self._args = args.shape.pool, name, args
        self.node_pools = tuple(self._node_pool(zone) for zone in self.pool.zones)
        self.register_outputs({})

    def _node_pool(self, zone: str) -> gcp.container.NodePool:
        args, c = self._args, gcp.container
        placement = c.NodePoolPlacementPolicyArgs(type="COMPACT") if args.shape.compact else None
        return c.NodePool(
            f"{self._name}-{zone}",
            # Random letters, as other resources get them, would make it too long for Google.
            name=f"{self.pool.name}-{zone.rpartition('-')[2]}",
            cluster=args.cluster.name,
            location=args.cluster.location,
            node_locations=[zone],
            initial_node_count=0,
            autoscaling=c.NodePoolAutoscalingArgs(
                total_min_node_count=0,
                total_max_node_count=self.pool.max_nodes,
                location_policy="ANY",
            ),
            ignore_node_count_changes=True,
            max_pods_per_node=PODS_PER_GPU_NODE,
            network_config=c.NodePoolNetworkConfigArgs(enable_private_nodes=True),
            node_config=self._node(),
            placement_policy=placement,
            management=c.NodePoolManagementArgs(auto_repair=True, auto_upgrade=True),
            # One node at a time, the old one first: an upgrade drains like an interruption, and
            # GKE would else start GPU nodes more, against quota and bill.
            upgrade_settings=c.NodePoolUpgradeSettingsArgs(max_surge=0, max_unavailable=1),
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=list(args.after),
                ignore_changes=["initialNodeCount"],
                # Left to itself the provider changes it in place, or, without nodes, not at all.
                replace_on_changes=["nodeConfig.machineType"],
                # Its name is taken until it is gone.
                delete_before_replace=True,
                custom_timeouts=longest_change(self.pool.max_nodes),
            ),
        )

    def _node(self) -> gcp.container.NodePoolNodeConfigArgs:
        shape, c = self._args.shape, gcp.container
        is_spot = self.pool.capacity == contract.CAPACITY_SPOT
        driver = c.NodePoolNodeConfigGuestAcceleratorGpuDriverInstallationConfigArgs(
            gpu_driver_version="DEFAULT"
        )
        # GKE fills this in by itself for machines that bring disks. Unsaid it would be a change at
        # every `pulumi up`, which replaces the pool.
        disks = c.NodePoolNodeConfigEphemeralStorageLocalSsdConfigArgs(
            local_ssd_count=shape.local_ssds
        )
        return c.NodePoolNodeConfigArgs(
            machine_type=shape.machine_type,
            spot=is_spot,
            guest_accelerators=[
                c.NodePoolNodeConfigGuestAcceleratorArgs(
                    type=shape.accelerator,
                    count=self.pool.gpus_per_node,
                    gpu_driver_installation_config=driver,
                )
            ],
            disk_size_gb=shape.disk_gib,
            ephemeral_storage_local_ssd_config=disks if shape.local_ssds else None,
            labels=self.pool.node_labels(),
            # What GKE adds by itself, for those who look at the program.
            taints=[
                c.NodePoolNodeConfigTaintArgs(
                    key=contract.GPU_TAINT_KEY,
                    value=contract.GPU_TAINT_VALUE,
                    effect=TAINT_EFFECTS[contract.GPU_TAINT_EFFECT],
                )
            ],
            resource_labels={**self._args.place.labels, "pool": self.pool.name},
            kubelet_config=c.NodePoolNodeConfigKubeletConfigArgs(
                insecure_kubelet_readonly_port_enabled="FALSE",
                # Google takes them for spot nodes only.
                shutdown_grace_period_seconds=SHUTDOWN_SECONDS if is_spot else None,
                shutdown_grace_period_critical_pods_seconds=CRITICAL_SECONDS if is_spot else None,
            ),
            **pool_config(self._args.account),
        )
