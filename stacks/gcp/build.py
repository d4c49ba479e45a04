"""From the settings of Google Cloud to the arguments of its components: the only place that knows
both."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from components.cloud import Cloud, ImageReferences
from components.cloud import Pool as BuiltPool
from components.gcp.budget import BudgetShape
from components.gcp.cloud import GcpCloud, GcpCloudArgs, NetworkShape
from components.gcp.cluster.cluster import ClusterShape
from components.gcp.nodes.gpu_pool import NOTICE_SECONDS, PoolShape
from components.gcp.nodes.managers import ManagersShape
from components.gcp.storage.bucket import BucketShape
from components.gcp.storage.file_server import FileSystemShape, ServerShape
from components.gcp.storage.storage import StorageShape
from stacks.gcp.costs import pool_price
from stacks.gcp.pool_rules import machine_of
from stacks.gcp.pool_zones import zones_of
from stacks.pools import pools_with_twins

if TYPE_CHECKING:
    from stacks.gcp.cluster_schema import Pool
    from stacks.gcp.schema import GcpSettings

Tags = Mapping[str, str]


def build(settings: "GcpSettings", tags: Tags) -> Cloud:
    """Google Cloud, with everything that only it needs."""
    return GcpCloud("gcp", gcp_args(settings, tags)).cloud


def gcp_args(settings: "GcpSettings", tags: Tags) -> GcpCloudArgs:
    """A stack file as Google Cloud's arguments."""
    images, network, managers = settings.images, settings.network, settings.managers
    bases = {"training": images.training_base, "controller": images.controller_base}
    return GcpCloudArgs(
        project=settings.project,
        region=settings.region,
        manager_zones=settings.zones[:2],
        network=NetworkShape(
            cidr=network.cidr,
            pod_cidr=network.pod_cidr,
            service_cidr=network.service_cidr,
            flow_logs=network.flow_logs,
            # A Filestore never leaves the network that it was made in.
            retain=settings.storage.retain and settings.storage.server is None,
        ),
        cluster=_cluster(settings),
        managers=ManagersShape(
            machine_type=managers.machine_type,
            min_nodes=managers.min_nodes,
            max_nodes=managers.max_nodes,
            disk_gib=managers.disk_gib,
        ),
        pools=tuple(_pool(settings, pool) for pool in pools_with_twins(settings.pools)),
        storage=_storage(settings),
        images=_given_images(settings),
        image_bases={kind: base for kind, base in bases.items() if base},
        scan_images=images.scan,
        budget=_budget(settings),
        tags=tags,
    )


def _cluster(settings: "GcpSettings") -> ClusterShape:
    cluster = settings.cluster
    is_regional = cluster.control_plane == "regional"
    return ClusterShape(
        version=cluster.version,
        channel=cluster.channel,
        location=settings.region if is_regional else settings.zones[0],
        public_cidrs=settings.network.api_access.cidrs,
        admins=cluster.admins,
        researchers=cluster.researchers,
        groups_domain=cluster.groups_domain,
        has_key=cluster.secrets_key,
        deletion_protection=cluster.deletion_protection,
        autoscaling_profile=settings.autoscaler.profile,
        container_logs=settings.observability.logs,
        mounts_buckets=settings.storage.bucket,
    )


def _pool(settings: "GcpSettings", pool: "Pool") -> PoolShape:
    price, machine = pool_price(pool, settings), machine_of(pool)
    built = BuiltPool(
        name=pool.name,
        gpu=pool.gpu,
        gpus_per_node=pool.gpus_per_node,
        capacity=pool.capacity,
        zones=zones_of(pool, settings),
        instance_types=(pool.machine_type,),
        max_nodes=pool.max_nodes,
        notice_seconds=NOTICE_SECONDS[pool.capacity],
        spot_usd_per_hour=price.spot_usd_per_hour,
        on_demand_usd_per_hour=price.on_demand_usd_per_hour,
    )
    return PoolShape(
        pool=built,
        machine_type=machine.name,
        accelerator=machine.accelerator,
        disk_gib=pool.disk_gib,
        local_ssds=machine.local_ssds,
        compact=pool.compact,
    )


def _storage(settings: "GcpSettings") -> StorageShape:
    storage = settings.storage
    files: FileSystemShape | ServerShape
    if storage.server:
        files = ServerShape(address=storage.server.address, path=storage.server.path)
    else:
        files = FileSystemShape(
            tier=storage.tier,
            size_gib=storage.size_gib,
            zone=settings.zones[0],
            retain=storage.retain,
        )
    bucket = BucketShape(retain=storage.retain, job_namespace=settings.jobs.namespace)
    return StorageShape(files=files, bucket=bucket if storage.bucket else None)


def _budget(settings: "GcpSettings") -> BudgetShape | None:
    budget = settings.budget
    if budget is None:
        return None
    return BudgetShape(
        billing_account=budget.billing_account,
        usd_per_month=budget.usd_per_month,
        emails=budget.emails,
        whole_project=budget.scope == "project",
    )


def _given_images(settings: "GcpSettings") -> ImageReferences | None:
    images = settings.images
    if images.training is None or images.controller is None:
        return None
    return ImageReferences(training=images.training, controller=images.controller)
