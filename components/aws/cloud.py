"""AWS, as a table of contents: what a Cloud is made of here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws.addons.block_storage import BlockStorage, BlockStorageArgs
from components.aws.addons.cluster_addons import ClusterAddOns, ClusterAddOnsArgs
from components.aws.autoscaler.autoscaler import Autoscaler, AutoscalerArgs
from components.aws.autoscaler.flags import AutoscalerShape
from components.aws.cluster.cluster import Cluster, ClusterArgs, ClusterShape
from components.aws.drill_role import DrillRole, DrillRoleArgs
from components.aws.images import Images, ImagesArgs
from components.aws.network.network import Network, NetworkArgs
from components.aws.nodes.gpu_pool import GpuPool, PoolShape
from components.aws.nodes.managers import ManagersShape
from components.aws.nodes.nodes import Nodes, NodesArgs
from components.aws.price_identity import PriceIdentity, PriceIdentityArgs
from components.aws.storage.storage import Storage, StorageArgs, StorageShape
from components.aws.watch.budget import Budget, BudgetArgs, BudgetShape
from components.aws.watch.container_logs import ContainerLogs, ContainerLogsArgs
from components.aws.watch.notifications import Notifications, NotificationsArgs
from components.cloud import (
    AlertReceiver,
    Cloud,
    Disk,
    Endpoint,
    ImageReferences,
    StoragePrices,
    Terms,
)
from spotrain import contract

Resources = tuple[pulumi.Resource, ...]

POD_IDENTITY_AGENT = Endpoint(cidr="169.254.170.23/32", port=80)
"""On every node; https://docs.aws.amazon.com/eks/latest/userguide/pod-id-agent-setup.html."""


@dataclass(frozen=True, kw_only=True)
class AwsCloudArgs:
    account: str | None
    """The only one to build in; None: that of whoever runs the program."""
    network: NetworkArgs
    cluster: ClusterShape
    addon_versions: Mapping[str, str]
    """Add-on -> version; EKS chooses for one that is not here."""
    managers: ManagersShape
    pools: tuple[PoolShape, ...]
    autoscaler: AutoscalerShape
    metrics_disk_gib: int | None
    """None: nobody stores metrics."""
    storage: StorageShape
    storage_prices: StoragePrices | None
    """None: nobody knows how the file system is billed."""
    images: ImageReferences | None
    """None: build them."""
    image_bases: Mapping[str, str]
    budget: BudgetShape | None
    container_log_days: int | None
    """None: what containers say stays on their nodes."""
    notify: tuple[str, ...]
    """E-mail addresses of whom alerts are told."""
    drills: bool
    """Let AWS interrupt spot nodes when somebody asks for it."""
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
            allowed_account_ids=[args.account] if args.account else None,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self._child = pulumi.ResourceOptions(parent=self, providers=[provider])

        # 1. Where things are, and who talks to whom
        network = Network("network", args.network, self._child)
        cluster = self._cluster(network)

        # 2. Nodes: what runs on each, managers, GPU pools
        nodes = self._nodes(network, cluster)

        # 3. What needs a node to run on
        running = (nodes.managers.group, *self._cluster_addons(cluster, nodes).ready)
        storage = self._storage(network, cluster, running)
        self._autoscaler(cluster, nodes.pools, running)
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
            pools=tuple(pool.pool for pool in nodes.pools),
            volumes=storage.volumes,
            archive=storage.archive,
            metrics_disk=self._metrics_disk(cluster, running),
            alert_receiver=self._alert_receiver(cluster),
            prices=prices.source,
            job_credentials=POD_IDENTITY_AGENT if args.storage.bucket else None,
            researchers=(),  # an access entry puts them into the group
            images=args.images or self._images(),
            # GPU nodes too: at a destroy the last pods of jobs stop while their nodes are there.
            ready=(
                *running,
                *(each for pool in nodes.pools for each in pool.groups),
                *storage.ready,
            ),
            outputs={
                "region": args.network.region,
                "clusterName": cluster.reference.name,
                "login": cluster.login_command,
                "vpcId": network.vpc_id,
                "privateSubnetIds": pulumi.Output.all(*network.private_subnet_ids.values()),
                **storage.outputs,
                **self._drill_role(network, cluster, nodes.pools),
            },
            terms=Terms(idle_minutes=args.autoscaler.idle_minutes, storage=args.storage_prices),
        )
        self.register_outputs({})

    def _cluster(self, network: Network) -> Cluster:
        args = ClusterArgs(
            shape=self._args.cluster,
            region=self._args.network.region,
            account=network.account,
            vpc_id=network.vpc_id,
            vpc_cidr=self._args.network.cidr,
            subnet_ids=[network.private_subnet_ids[zone] for zone in self._lasting_zones()],
            tags=self._args.tags,
        )
        return Cluster("cluster", args, self._child)

    def _lasting_zones(self) -> tuple[str, ...]:
        """The first two, as written: control plane and managers cannot change theirs without being
        replaced, so zones that are added later are none of theirs."""
        return self._args.network.zones[:2]

    def _nodes(self, network: Network, cluster: Cluster) -> Nodes:
        args = NodesArgs(
            managers=self._args.managers,
            manager_zones=self._lasting_zones(),
            pools=self._args.pools,
            cluster=cluster.reference,
            security_group_id=cluster.security_group_id,
            subnet_ids=network.private_subnet_ids,
            addon_versions=self._args.addon_versions,
            after=network.ready,
            tags=self._args.tags,
        )
        return Nodes("nodes", args, self._child)

    def _cluster_addons(self, cluster: Cluster, nodes: Nodes) -> ClusterAddOns:
        args = ClusterAddOnsArgs(
            cluster=cluster.reference,
            versions=self._args.addon_versions,
            after=(nodes.managers.group,),
            tags=self._args.tags,
        )
        return ClusterAddOns("cluster-addons", args, self._child)

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

    def _metrics_disk(self, cluster: Cluster, after: Resources) -> Disk | None:
        size_gib = self._args.metrics_disk_gib
        if size_gib is None:
            return None
        args = BlockStorageArgs(
            cluster=cluster.reference,
            driver_version=self._args.addon_versions.get("aws-ebs-csi-driver"),
            size_gib=size_gib,
            zone=self._lasting_zones()[0],
            after=after,
            tags=self._args.tags,
        )
        return BlockStorage("block-storage", args, self._child).disk

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

    def _drill_role(
        self, network: Network, cluster: Cluster, pools: Sequence[GpuPool]
    ) -> dict[str, pulumi.Input[str | list[str]]]:
        """As an output; nothing where nobody asked for it."""
        if not self._args.drills:
            return {}
        args = DrillRoleArgs(
            region=self._args.network.region,
            account=network.account,
            cluster_arn=cluster.reference.arn,
            spot_groups=_scaling_groups(pools, contract.CAPACITY_SPOT),
            tags=self._args.tags,
        )
        return {"drillRole": DrillRole("drill", args, self._child).arn}

    def _autoscaler(
        self, cluster: Cluster, pools: Sequence[GpuPool], after: Resources
    ) -> Autoscaler:
        args = AutoscalerArgs(
            shape=self._args.autoscaler,
            cluster=cluster.reference,
            spot_groups=_scaling_groups(pools, contract.CAPACITY_SPOT),
            on_demand_groups=_scaling_groups(pools, contract.CAPACITY_ON_DEMAND),
            after=after,
            tags=self._args.tags,
        )
        return Autoscaler("autoscaler", args, self._child)

    def _images(self) -> ImageReferences:
        args = ImagesArgs(bases=self._args.image_bases, tags=self._args.tags)
        return Images("images", args, self._child).references


def _scaling_groups(pools: Sequence[GpuPool], capacity: str) -> list[pulumi.Output[str]]:
    chosen = [pool for pool in pools if pool.pool.capacity == capacity]
    return [name for pool in chosen for name in pool.scaling_group_names]
