"""From settings to the arguments of a cloud: the only place that knows both."""

from collections.abc import Callable, Mapping

from components.aws.cloud import AwsCloud, AwsCloudArgs
from components.aws.cluster import ClusterShape
from components.aws.gpu_pool import NOTICE_SECONDS, PoolShape
from components.aws.managers import ManagersShape
from components.aws.network import NetworkArgs
from components.aws.storage import StorageShape
from components.cloud import Cloud, ImageReferences
from components.cloud import Pool as BuiltPool
from stacks.costs import PoolPrice, pool_price
from stacks.schema import Images, Pool, Settings

Tags = Mapping[str, str]


def build_cloud(settings: Settings, tags: Tags) -> Cloud:
    """The cloud that a stack file names, with everything that only it needs."""
    return BUILDERS[settings.cloud](settings, tags)


def _build_aws(settings: Settings, tags: Tags) -> Cloud:
    return AwsCloud("aws", aws_args(settings, tags)).cloud


BUILDERS: Mapping[str, Callable[[Settings, Tags], Cloud]] = {"aws": _build_aws}


def aws_args(settings: Settings, tags: Tags) -> AwsCloudArgs:
    """A stack file as AWS's arguments."""
    network, cluster = settings.network, settings.cluster
    managers, storage, images = settings.managers, settings.storage, settings.images
    bases = {"training": images.training_base, "controller": images.controller_base}
    return AwsCloudArgs(
        network=NetworkArgs(
            region=settings.region,
            cidr=network.cidr,
            zones=settings.zones,
            nat_per_zone=network.nat == "per_zone",
            tags=tags,
        ),
        cluster=ClusterShape(
            version=cluster.version,
            service_cidr=network.service_cidr,
            public_cidrs=network.api_access.cidrs,
            private_cidrs=network.api_access.private_cidrs,
            admins=cluster.admins,
            log_types=cluster.log_types,
            deletion_protection=cluster.deletion_protection,
        ),
        addon_versions=cluster.addon_versions,
        managers=ManagersShape(
            instance_types=managers.instance_types,
            min_nodes=managers.min_nodes,
            max_nodes=managers.max_nodes,
            disk_gib=managers.disk_gib,
        ),
        pools=tuple(_pool(settings, pool) for pool in settings.pools),
        storage=StorageShape(
            throughput=storage.throughput,
            backup=storage.backup,
            retain=storage.retain,
            mount_cidrs=storage.mount_cidrs,
        ),
        images=_given_images(images),
        image_bases={kind: base for kind, base in bases.items() if base},
        tags=tags,
    )


def _pool(settings: Settings, pool: Pool) -> PoolShape:
    price: PoolPrice = pool_price(pool, settings.region)
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


def _given_images(images: Images) -> ImageReferences | None:
    if images.training is None or images.controller is None:
        return None
    return ImageReferences(training=images.training, controller=images.controller)
