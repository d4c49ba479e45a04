"""From the settings of AWS to the arguments of its components: the only place that knows both."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from components.aws.autoscaler.flags import AutoscalerShape
from components.aws.cloud import AwsCloud, AwsCloudArgs
from components.aws.cluster.cluster import ClusterShape
from components.aws.network.network import NetworkArgs
from components.aws.nodes.gpu_pool import NOTICE_SECONDS, PoolShape
from components.aws.nodes.managers import ManagersShape
from components.aws.nodes.node_template import NodeSize
from components.aws.storage.bucket_mount import BucketShape
from components.aws.storage.storage import StorageShape
from components.aws.watch.budget import BudgetShape
from components.cloud import Cloud, ImageReferences
from components.cloud import Pool as BuiltPool
from stacks.aws.addons import addon_versions
from stacks.aws.allocatable import Size, gib, smallest, usable_storage_gib
from stacks.aws.costs import pool_price
from stacks.aws.instances import gpu_catalog
from stacks.aws.storage_costs import storage_prices
from stacks.pools import pools_with_twins

if TYPE_CHECKING:
    from stacks.aws.cluster_schema import Pool
    from stacks.aws.schema import AwsSettings, Images

Tags = Mapping[str, str]


def build(settings: "AwsSettings", tags: Tags) -> Cloud:
    """AWS, with everything that only it needs."""
    return AwsCloud("aws", aws_args(settings, tags)).cloud


def aws_args(settings: "AwsSettings", tags: Tags) -> AwsCloudArgs:
    """A stack file as AWS's arguments."""
    images, watch = settings.images, settings.observability
    bases = {"training": images.training_base, "controller": images.controller_base}
    return AwsCloudArgs(
        account=settings.account,
        network=_network(settings, tags),
        cluster=_cluster(settings),
        addon_versions=addon_versions(settings.cluster.version, settings.cluster.addon_versions),
        managers=ManagersShape(
            instance_types=settings.managers.instance_types,
            min_nodes=settings.managers.min_nodes,
            max_nodes=settings.managers.max_nodes,
            disk_gib=settings.managers.disk_gib,
        ),
        pools=tuple(_pool(settings, pool) for pool in pools_with_twins(settings.pools)),
        autoscaler=AutoscalerShape(
            idle_minutes=settings.autoscaler.idle_minutes,
            provision_minutes=settings.autoscaler.provision_minutes,
        ),
        metrics_disk_gib=watch.metrics_disk_gib if watch.metrics else None,
        storage=_storage(settings),
        storage_prices=storage_prices(settings),
        images=_given_images(images),
        image_bases={kind: base for kind, base in bases.items() if base},
        budget=_budget(settings),
        container_log_days=watch.log_days if watch.logs else None,
        notify=watch.notify,
        drills=settings.drills,
        tags=tags,
    )


def _network(settings: "AwsSettings", tags: Tags) -> NetworkArgs:
    return NetworkArgs(
        region=settings.region,
        cidr=settings.network.cidr,
        zones=settings.zones,
        nat_per_zone=settings.network.nat == "per_zone",
        endpoints=settings.network.endpoints,
        flow_log_days=settings.network.flow_log_days,
        tags=tags,
    )


def _cluster(settings: "AwsSettings") -> ClusterShape:
    cluster, access = settings.cluster, settings.network.api_access
    return ClusterShape(
        version=cluster.version,
        service_cidr=settings.network.service_cidr,
        public_cidrs=access.cidrs,
        private_cidrs=access.private_cidrs,
        admins=cluster.admins,
        researchers=cluster.researchers,
        log_types=cluster.log_types,
        log_days=cluster.log_days,
        deletion_protection=cluster.deletion_protection,
    )


def _pool(settings: "AwsSettings", pool: "Pool") -> PoolShape:
    price = pool_price(pool, settings)
    built = BuiltPool(
        name=pool.name,
        gpu=pool.gpu,
        gpus_per_node=pool.gpus_per_node,
        capacity=pool.capacity,
        zones=tuple(sorted(pool.zones or settings.zones)),
        instance_types=pool.instance_types,
        max_nodes=pool.max_nodes,
        notice_seconds=NOTICE_SECONDS[pool.capacity],
        spot_usd_per_hour=price.spot_usd_per_hour,
        on_demand_usd_per_hour=price.on_demand_usd_per_hour,
    )
    return PoolShape(
        pool=built,
        disk_gib=pool.disk_gib,
        node=_node_size(pool),
        local_disks=pool.local_disks == "raid0",
    )


def _node_size(pool: "Pool") -> NodeSize:
    """What every node of the pool has, whichever of its types it is."""
    types = [gpu_catalog().types[name] for name in pool.instance_types]
    node = smallest(
        Size(vcpu=each.vcpu, memory_gib=each.memory_gib, max_pods=each.max_pods) for each in types
    )
    local_gib = gib(min(each.local_disk_gb for each in types))
    return NodeSize(
        cpu_millis=node.cpu_millis,
        memory_mib=node.memory_mib,
        storage_gib=usable_storage_gib(local_gib if pool.local_disks == "raid0" else pool.disk_gib),
        efa_interfaces=types[0].efa_interfaces if pool.efa else 0,
    )


def _storage(settings: "AwsSettings") -> StorageShape:
    storage = settings.storage
    return StorageShape(
        file_system_arn=storage.file_system,
        throughput=storage.throughput,
        backup_days=storage.backup_days if storage.backup else None,
        retain=storage.retain,
        mount_cidrs=storage.mount_cidrs,
        mount_security_groups=storage.mount_security_groups,
        bucket=_bucket(settings),
    )


def _bucket(settings: "AwsSettings") -> BucketShape | None:
    storage = settings.storage
    if not storage.bucket:
        return None
    return BucketShape(
        retain=storage.retain,
        cache_gib=storage.bucket_cache_gib,
        job_namespace=settings.jobs.namespace,
    )


def _budget(settings: "AwsSettings") -> BudgetShape | None:
    budget = settings.budget
    if budget is None:
        return None
    return BudgetShape(
        usd_per_month=budget.usd_per_month,
        emails=budget.emails,
        whole_account=budget.scope == "account",
    )


def _given_images(images: "Images") -> ImageReferences | None:
    if images.training is None or images.controller is None:
        return None
    return ImageReferences(training=images.training, controller=images.controller)
