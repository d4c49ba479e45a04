"""From the settings of AWS to the arguments of its components: the only place that knows both."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from components.aws.autoscaler import AutoscalerShape
from components.aws.cloud import AwsCloud, AwsCloudArgs
from components.aws.cluster import ClusterShape
from components.aws.gpu_pool import NOTICE_SECONDS, PoolShape
from components.aws.managers import ManagersShape
from components.aws.network import NetworkArgs
from components.aws.storage import StorageShape
from components.cloud import Cloud, ImageReferences
from components.cloud import Pool as BuiltPool
from stacks.aws.costs import pool_price
from stacks.aws.pools import pools_with_twins

if TYPE_CHECKING:
    from stacks.aws.schema import AwsSettings, Images, Pool

Tags = Mapping[str, str]


def build(settings: "AwsSettings", tags: Tags) -> Cloud:
    """AWS, with everything that only it needs."""
    return AwsCloud("aws", aws_args(settings, tags)).cloud


def aws_args(settings: "AwsSettings", tags: Tags) -> AwsCloudArgs:
    """A stack file as AWS's arguments."""
    images = settings.images
    bases = {"training": images.training_base, "controller": images.controller_base}
    return AwsCloudArgs(
        network=_network(settings, tags),
        cluster=_cluster(settings),
        addon_versions=settings.cluster.addon_versions,
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
        storage=_storage(settings),
        images=_given_images(images),
        image_bases={kind: base for kind, base in bases.items() if base},
        tags=tags,
    )


def _network(settings: "AwsSettings", tags: Tags) -> NetworkArgs:
    return NetworkArgs(
        region=settings.region,
        cidr=settings.network.cidr,
        zones=settings.zones,
        nat_per_zone=settings.network.nat == "per_zone",
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
    return PoolShape(pool=built, disk_gib=pool.disk_gib)


def _storage(settings: "AwsSettings") -> StorageShape:
    storage = settings.storage
    return StorageShape(
        throughput=storage.throughput,
        backup=storage.backup,
        retain=storage.retain,
        mount_cidrs=storage.mount_cidrs,
    )


def _given_images(images: "Images") -> ImageReferences | None:
    if images.training is None or images.controller is None:
        return None
    return ImageReferences(training=images.training, controller=images.controller)
