"""Google Cloud, as a table of contents: what a Cloud is made of here."""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
import pulumi_gcp as gcp

from components.cloud import Cloud, Endpoint, ImageReferences, StoragePrices, Terms
from components.gcp.budget import Budget, BudgetArgs, BudgetShape
from components.gcp.cluster.cluster import Cluster, ClusterArgs, ClusterShape
from components.gcp.images import Images, ImagesArgs
from components.gcp.network.network import Network, NetworkArgs
from components.gcp.nodes.gpu_pool import GpuPool, GpuPoolArgs, PoolShape
from components.gcp.nodes.managers import Managers, ManagersArgs, ManagersShape
from components.gcp.nodes.node_account import NodeAccount, NodeAccountArgs
from components.gcp.price_identity import PriceIdentity, PriceIdentityArgs
from components.gcp.project import Project, ProjectArgs, labels
from components.gcp.storage.storage import Storage, StorageArgs, StorageShape

Resources = tuple[pulumi.Resource, ...]

METADATA_SERVER = Endpoint(cidr="169.254.169.254/32", port=80)
"""On every node, where pods get tokens for their own identity, and nothing of the node's:
cloud.google.com/kubernetes-engine/docs/how-to/workload-identity, for Dataplane V2."""
IDLE_MINUTES = {"BALANCED": 10}
"""Profile of GKE's autoscaler -> how long an idle node stays, where Google says so."""


@dataclass(frozen=True, kw_only=True)
class NetworkShape:
    """What a stack file decides about the network."""

    cidr: IPv4Network
    pod_cidr: IPv4Network
    service_cidr: IPv4Network
    flow_logs: bool
    retain: bool
    """Keep network and subnet when the stack is destroyed."""


@dataclass(frozen=True, kw_only=True)
class GcpCloudArgs:
    project: str
    region: str
    manager_zones: tuple[str, ...]
    """The first two, as written."""
    network: NetworkShape
    cluster: ClusterShape
    managers: ManagersShape
    pools: tuple[PoolShape, ...]
    storage: StorageShape
    images: ImageReferences | None
    """None: build them."""
    image_bases: Mapping[str, str]
    scan_images: bool
    budget: BudgetShape | None
    tags: Mapping[str, str]


class GcpCloud(pulumi.ComponentResource):
    """A network, a GKE cluster with managers and GPU pools, shared storage and images."""

    cloud: Cloud

    def __init__(
        self, name: str, args: GcpCloudArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:gcp:GcpCloud", name, {}, opts)
        self._args = args
        # Project and region come from the stack file alone, not from what gcloud is set to.
        provider = gcp.Provider(
            f"{name}-provider",
            project=args.project,
            region=args.region,
            default_labels=labels(args.tags),
            # Some APIs count a call for a project; theirs is this one.
            user_project_override=True,
            billing_project=args.project,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self._child = pulumi.ResourceOptions(parent=self, providers=[provider])

        # 1. What is switched on, and where everything goes
        project = self._project()
        self._place, apis = project.place, project.ready

        # 2. Where things are, and who talks to whom
        network = self._network(apis)
        account = NodeAccount(
            "node-account", NodeAccountArgs(place=self._place, after=apis), self._child
        )
        joining = (*network.ready, *account.ready)
        cluster = self._cluster(network, account, (*apis, *joining))

        # 3. Images, and nodes to run them on
        images, pulled = self._images(account, apis)
        managers = self._managers(cluster, account, joining)
        pools = tuple(self._pool(shape, cluster, account, joining) for shape in args.pools)
        running = (managers.pool, *pulled)

        # 4. What needs a node to run on; who is told of the cost
        storage = self._storage(network, cluster, images, running)
        prices = PriceIdentity(
            "prices", PriceIdentityArgs(place=self._place, after=(managers.pool,)), self._child
        )
        if args.budget:
            budget = BudgetArgs(shape=args.budget, place=self._place, after=apis)
            Budget("budget", budget, self._child)

        # 5. What the platform gets
        self.cloud = Cloud(
            kubernetes=cluster.reference.kubernetes,
            pools=tuple(pool.pool for pool in pools),
            volumes=storage.volumes,
            archive=storage.archive,
            metrics_disk=None,
            alert_receiver=None,
            prices=prices.source,
            job_credentials=METADATA_SERVER if args.storage.bucket else None,
            researchers=cluster.researchers,
            images=images,
            # GPU nodes too: at a destroy the last pods of jobs stop while their nodes are there.
            ready=(*running, *(each for pool in pools for each in pool.node_pools), *storage.ready),
            outputs={
                "project": args.project,
                "region": args.region,
                "clusterName": cluster.reference.name,
                "login": cluster.login_command,
                "nodeAccount": account.email,
                **storage.outputs,
            },
            terms=Terms(
                idle_minutes=IDLE_MINUTES.get(args.cluster.autoscaling_profile),
                # Filestore is billed by its size alone.
                storage=StoragePrices(read_usd_per_gb=0.0, written_usd_per_gb=0.0),
            ),
        )
        self.register_outputs({})

    def _project(self) -> Project:
        args = ProjectArgs(
            project=self._args.project,
            region=self._args.region,
            has_budget=self._args.budget is not None,
            labels=labels(self._args.tags),
        )
        return Project("project", args, self._child)

    def _network(self, apis: Resources) -> Network:
        shape = self._args.network
        args = NetworkArgs(
            region=self._args.region,
            cidr=shape.cidr,
            pod_cidr=shape.pod_cidr,
            service_cidr=shape.service_cidr,
            flow_logs=shape.flow_logs,
            retain=shape.retain,
            after=apis,
        )
        return Network("network", args, self._child)

    def _cluster(self, network: Network, account: NodeAccount, after: Resources) -> Cluster:
        args = ClusterArgs(
            shape=self._args.cluster,
            place=self._place,
            network_id=network.id,
            subnet_id=network.subnet_id,
            node_account=account.email,
            after=after,
        )
        return Cluster("cluster", args, self._child)

    def _images(self, account: NodeAccount, apis: Resources) -> tuple[ImageReferences, Resources]:
        """And what lets nodes pull them."""
        if self._args.images:
            return self._args.images, ()
        args = ImagesArgs(
            bases=self._args.image_bases,
            place=self._place,
            node_account=account.email,
            scan=self._args.scan_images,
            after=apis,
        )
        images = Images("images", args, self._child)
        return images.references, images.ready

    def _managers(self, cluster: Cluster, account: NodeAccount, after: Resources) -> Managers:
        args = ManagersArgs(
            shape=self._args.managers,
            zones=self._args.manager_zones,
            cluster=cluster.reference,
            place=self._place,
            account=account.email,
            after=after,
        )
        return Managers("managers", args, self._child)

    def _pool(
        self, shape: PoolShape, cluster: Cluster, account: NodeAccount, after: Resources
    ) -> GpuPool:
        args = GpuPoolArgs(
            shape=shape,
            cluster=cluster.reference,
            place=self._place,
            account=account.email,
            after=after,
        )
        return GpuPool(f"gpu-{shape.pool.name}", args, self._child)

    def _storage(
        self, network: Network, cluster: Cluster, images: ImageReferences, after: Resources
    ) -> Storage:
        args = StorageArgs(
            shape=self._args.storage,
            network=network.name,
            cluster=cluster.reference,
            place=self._place,
            image=images.controller,
            after=after,
        )
        return Storage("storage", args, self._child)
