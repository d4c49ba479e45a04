"""AWS, as a table of contents: what a Cloud is made of here."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws.autoscaler import Autoscaler, AutoscalerArgs
from components.aws.autoscaler_flags import AutoscalerShape
from components.aws.block_storage import BlockStorage, BlockStorageArgs
from components.aws.budget import Budget, BudgetArgs, BudgetShape
from components.aws.cluster import Cluster, ClusterArgs, ClusterShape
from components.aws.cluster_addons import ClusterAddOns, ClusterAddOnsArgs
from components.aws.container_logs import ContainerLogs, ContainerLogsArgs
from components.aws.gpu_pool import GpuPool, GpuPoolArgs, PoolShape
from components.aws.images import Images, ImagesArgs
from components.aws.managers import Managers, ManagersArgs, ManagersShape
from components.aws.network import Network, NetworkArgs
from components.aws.node_addons import NodeAddOns, NodeAddOnsArgs
from components.aws.node_role import NodeRole, NodeRoleArgs
from components.aws.notifications import Notifications, NotificationsArgs
from components.aws.price_identity import PriceIdentity, PriceIdentityArgs
from components.aws.storage import Storage, StorageArgs, StorageShape
from components.cloud import AlertReceiver, Cloud, ImageReferences
from components.manifest import Manifest, ManifestArgs
from spotrain import contract

Resources = tuple[pulumi.Resource, ...]


@dataclass(frozen=True, kw_only=True)
class AwsCloudArgs:
    network: NetworkArgs
    cluster: ClusterShape
    addon_versions: Mapping[str, str]
    """Add-on -> version; EKS chooses for one that is not here."""
    managers: ManagersShape
    pools: tuple[PoolShape, ...]
    autoscaler: AutoscalerShape
    block_storage: bool
    """Whether pods can have disks of their own."""
    storage: StorageShape
    images: ImageReferences | None
    """None: build them."""
    image_bases: Mapping[str, str]
    budget: BudgetShape | None
    container_log_days: int | None
    """None: what containers say stays on their nodes."""
    notify: tuple[str, ...]
    """E-mail addresses of whom alerts are told."""
    tags: Mapping[str, str]


class AwsCloud(pulumi.ComponentResource):
    """A VPC, an EKS cluster with managers and GPU pools, shared storage and images."""

    cloud: Cloud

    def __init__(
        self, name: str, args: AwsCloudArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:AwsCloud", name, {}, opts)
        self._args = args
        # The region comes from the stack file alone, not from the environment of whoever runs this.
        provider = aws.Provider(
            f"{name}-provider",
            region=args.network.region,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self._child = pulumi.ResourceOptions(parent=self, providers=[provider])

        # 1. Where things are, and who talks to whom
        network = Network("network", args.network, self._child)
        cluster = self._cluster(network)

        # 2. Nodes: what runs on each, managers, GPU pools
        role = NodeRole("nodes", NodeRoleArgs(tags=args.tags), self._child)
        every_node = (*network.ready, *role.ready, *self._node_addons(cluster).ready)
        managers = self._managers(network, cluster, role, every_node)
        pools = self._pools(network, cluster, role, every_node)
        if any(shape.node.efa_interfaces for shape in args.pools):
            self._efa_plugin(cluster)

        # 3. What needs a node to run on
        running = (managers.group, *self._cluster_addons(cluster, managers).ready)
        storage = self._storage(network, cluster, running)
        disks = self._disks(cluster, running)
        self._autoscaler(cluster, pools, running)
        prices = PriceIdentity(
            "prices", PriceIdentityArgs(cluster=cluster.reference, tags=args.tags), self._child
        )

        # 4. Who is told of the cost, and of jobs; where the output of containers goes
        if args.budget:
            Budget("budget", BudgetArgs(shape=args.budget, tags=args.tags), self._child)
        self._container_logs(cluster, running)

        # 5. What the platform gets
        self.cloud = Cloud(
            kubernetes=cluster.reference.kubernetes,
            pools=tuple(pool.pool for pool in pools),
            volumes=storage.volumes,
            block_storage_class=disks.storage_class if disks else None,
            alert_receiver=self._alert_receiver(cluster),
            prices=prices.source,
            images=args.images or self._images(),
            # GPU nodes too: at a destroy the last pods of jobs stop while their nodes are there.
            ready=(
                *running,
                *(each for pool in pools for each in pool.groups),
                *storage.ready,
                *(disks.ready if disks else ()),
            ),
            outputs={"login": cluster.login_command, **storage.outputs},
        )
        self.register_outputs({})

    def _cluster(self, network: Network) -> Cluster:
        # The first two as written: zones added later are no zones of the control plane.
        zones = self._args.network.zones[:2]
        args = ClusterArgs(
            shape=self._args.cluster,
            region=self._args.network.region,
            vpc_id=network.vpc_id,
            vpc_cidr=self._args.network.cidr,
            subnet_ids=[network.private_subnet_ids[zone] for zone in zones],
            tags=self._args.tags,
        )
        return Cluster("cluster", args, self._child)

    def _node_addons(self, cluster: Cluster) -> NodeAddOns:
        args = NodeAddOnsArgs(
            cluster=cluster.reference, versions=self._args.addon_versions, tags=self._args.tags
        )
        return NodeAddOns("node-addons", args, self._child)

    def _cluster_addons(self, cluster: Cluster, managers: Managers) -> ClusterAddOns:
        args = ClusterAddOnsArgs(
            cluster=cluster.reference,
            versions=self._args.addon_versions,
            after=(managers.group,),
            tags=self._args.tags,
        )
        return ClusterAddOns("cluster-addons", args, self._child)

    def _managers(
        self, network: Network, cluster: Cluster, role: NodeRole, after: Resources
    ) -> Managers:
        args = ManagersArgs(
            shape=self._args.managers,
            cluster=cluster.reference,
            role_arn=role.arn,
            subnet_ids=list(network.private_subnet_ids.values()),
            after=after,
            tags=self._args.tags,
        )
        return Managers("managers", args, self._child)

    def _pools(
        self, network: Network, cluster: Cluster, role: NodeRole, after: Resources
    ) -> list[GpuPool]:
        return [
            GpuPool(
                f"gpu-{shape.pool.name}",
                GpuPoolArgs(
                    shape=shape,
                    cluster=cluster.reference,
                    role_arn=role.arn,
                    subnet_ids=network.private_subnet_ids,
                    security_group_id=cluster.security_group_id,
                    after=after,
                    tags=self._args.tags,
                ),
                self._child,
            )
            for shape in self._args.pools
        ]

    def _efa_plugin(self, cluster: Cluster) -> Manifest:
        """Makes adapters countable, as the GPU plugin does GPUs."""
        return Manifest(
            "efa-plugin",
            ManifestArgs(file="efa-device-plugin.yaml"),
            pulumi.ResourceOptions(parent=self, providers=[cluster.reference.kubernetes]),
        )

    def _storage(self, network: Network, cluster: Cluster, after: Resources) -> Storage:
        args = StorageArgs(
            shape=self._args.storage,
            vpc_id=network.vpc_id,
            subnet_ids=network.private_subnet_ids,
            cluster=cluster.reference,
            node_security_group_id=cluster.security_group_id,
            addon_versions=self._args.addon_versions,
            after=after,
            tags=self._args.tags,
        )
        return Storage("storage", args, self._child)

    def _disks(self, cluster: Cluster, after: Resources) -> BlockStorage | None:
        if not self._args.block_storage:
            return None
        args = BlockStorageArgs(
            cluster=cluster.reference,
            driver_version=self._args.addon_versions.get("aws-ebs-csi-driver"),
            after=after,
            tags=self._args.tags,
        )
        return BlockStorage("block-storage", args, self._child)

    def _container_logs(self, cluster: Cluster, after: Resources) -> None:
        days = self._args.container_log_days
        if days is not None:
            args = ContainerLogsArgs(
                cluster=cluster.reference, days=days, after=after, tags=self._args.tags
            )
            ContainerLogs("container-logs", args, self._child)

    def _alert_receiver(self, cluster: Cluster) -> AlertReceiver | None:
        if not self._args.notify:
            return None
        args = NotificationsArgs(
            cluster=cluster.reference, emails=self._args.notify, tags=self._args.tags
        )
        return Notifications("notifications", args, self._child).receiver

    def _autoscaler(self, cluster: Cluster, pools: list[GpuPool], after: Resources) -> Autoscaler:
        def groups(capacity: str) -> list[pulumi.Output[str]]:
            chosen = [pool for pool in pools if pool.pool.capacity == capacity]
            return [name for pool in chosen for name in pool.scaling_group_names]

        args = AutoscalerArgs(
            shape=self._args.autoscaler,
            cluster=cluster.reference,
            spot_groups=groups(contract.CAPACITY_SPOT),
            on_demand_groups=groups(contract.CAPACITY_ON_DEMAND),
            after=after,
            tags=self._args.tags,
        )
        return Autoscaler("autoscaler", args, self._child)

    def _images(self) -> ImageReferences:
        args = ImagesArgs(bases=self._args.image_bases, tags=self._args.tags)
        return Images("images", args, self._child).references
