"""AWS, as a table of contents: what a Cloud is made of here."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws.autoscaler import Autoscaler, AutoscalerArgs
from components.aws.cluster import Cluster, ClusterArgs, ClusterShape
from components.aws.cluster_addons import ClusterAddOns, ClusterAddOnsArgs
from components.aws.gpu_pool import GpuPool, GpuPoolArgs, PoolShape
from components.aws.images import Images, ImagesArgs
from components.aws.managers import Managers, ManagersArgs, ManagersShape
from components.aws.network import Network, NetworkArgs
from components.aws.node_addons import NodeAddOns, NodeAddOnsArgs
from components.aws.node_role import NodeRole, NodeRoleArgs
from components.aws.storage import Storage, StorageArgs, StorageShape
from components.cloud import Cloud, ImageReferences
from spotrain import contract

Resources = tuple[pulumi.Resource, ...]


@dataclass(frozen=True, kw_only=True)
class AwsCloudArgs:
    network: NetworkArgs
    cluster: ClusterShape
    addon_versions: Mapping[str, str]
    managers: ManagersShape
    pools: tuple[PoolShape, ...]
    storage: StorageShape
    images: ImageReferences | None
    """None: build them."""
    image_bases: Mapping[str, str]
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

        # 3. What needs a node to run on
        running = (managers.group, *self._cluster_addons(cluster, managers).ready)
        storage = self._storage(network, cluster, running)
        self._autoscaler(cluster, pools, running)

        # 4. What the platform gets
        self.cloud = Cloud(
            kubernetes=cluster.provider,
            pools=tuple(pool.pool for pool in pools),
            volume=storage.volume,
            storage_class=storage.storage_class,
            images=args.images or self._images(),
            ready=(*running, *storage.ready),
            outputs={"login": cluster.login_command, "mount": storage.mount_command},
        )
        self.register_outputs({})

    def _cluster(self, network: Network) -> Cluster:
        args = self._args
        return Cluster(
            "cluster",
            ClusterArgs(
                shape=args.cluster,
                region=args.network.region,
                vpc_id=network.vpc_id,
                vpc_cidr=args.network.cidr,
                subnet_ids=list(network.private_subnet_ids.values()),
                tags=args.tags,
            ),
            self._child,
        )

    def _node_addons(self, cluster: Cluster) -> NodeAddOns:
        args = NodeAddOnsArgs(
            cluster_name=cluster.name,
            cluster_arn=cluster.arn,
            versions=self._args.addon_versions,
            tags=self._args.tags,
        )
        return NodeAddOns("node-addons", args, self._child)

    def _cluster_addons(self, cluster: Cluster, managers: Managers) -> ClusterAddOns:
        args = ClusterAddOnsArgs(
            cluster_name=cluster.name,
            kubernetes=cluster.provider,
            versions=self._args.addon_versions,
            after=(managers.group,),
            tags=self._args.tags,
        )
        return ClusterAddOns("cluster-addons", args, self._child)

    def _managers(
        self, network: Network, cluster: Cluster, role: NodeRole, after: Resources
    ) -> Managers:
        args = self._args
        return Managers(
            "managers",
            ManagersArgs(
                shape=args.managers,
                cluster_name=cluster.name,
                version=args.cluster.version,
                role_arn=role.arn,
                subnet_ids=list(network.private_subnet_ids.values()),
                after=after,
                tags=args.tags,
            ),
            self._child,
        )

    def _pools(
        self, network: Network, cluster: Cluster, role: NodeRole, after: Resources
    ) -> list[GpuPool]:
        return [
            GpuPool(
                f"gpu-{shape.pool.name}",
                GpuPoolArgs(
                    shape=shape,
                    cluster_name=cluster.name,
                    version=self._args.cluster.version,
                    role_arn=role.arn,
                    subnet_ids=network.private_subnet_ids,
                    after=after,
                    tags=self._args.tags,
                ),
                self._child,
            )
            for shape in self._args.pools
        ]

    def _storage(self, network: Network, cluster: Cluster, after: Resources) -> Storage:
        args = self._args
        return Storage(
            "storage",
            StorageArgs(
                shape=args.storage,
                vpc_id=network.vpc_id,
                subnet_ids=network.private_subnet_ids,
                cluster_name=cluster.name,
                cluster_arn=cluster.arn,
                node_security_group_id=cluster.security_group_id,
                kubernetes=cluster.provider,
                driver_version=args.addon_versions.get("aws-efs-csi-driver"),
                after=after,
                tags=args.tags,
            ),
            self._child,
        )

    def _autoscaler(self, cluster: Cluster, pools: list[GpuPool], after: Resources) -> Autoscaler:
        def groups(capacity: str) -> list[pulumi.Output[str]]:
            chosen = [pool for pool in pools if pool.pool.capacity == capacity]
            return [name for pool in chosen for name in pool.scaling_group_names]

        return Autoscaler(
            "autoscaler",
            AutoscalerArgs(
                region=self._args.network.region,
                version=self._args.cluster.version,
                cluster_name=cluster.name,
                cluster_arn=cluster.arn,
                kubernetes=cluster.provider,
                spot_groups=groups(contract.CAPACITY_SPOT),
                on_demand_groups=groups(contract.CAPACITY_ON_DEMAND),
                after=after,
                tags=self._args.tags,
            ),
            self._child,
        )

    def _images(self) -> ImageReferences:
        args = ImagesArgs(bases=self._args.image_bases, tags=self._args.tags)
        return Images("images", args, self._child).references
