"""What a stack on AWS costs; pure."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from components.aws.nodes.disks import BASE_MIB_PER_SECOND, IMAGE_MIB_PER_SECOND
from spotrain import contract
from stacks.aws.instances import gpu_catalog
from stacks.aws.services import service_catalog, service_prices
from stacks.aws.storage_costs import storage_notes
from stacks.bill import HOURS_PER_MONTH, IMAGES_GB, Bill, FixedCost, PoolPrice
from stacks.pools import pools_with_twins

if TYPE_CHECKING:
    from stacks.aws.cluster_schema import Pool
    from stacks.aws.schema import AwsSettings

REPOSITORY = "aws:ecr/repository:Repository"


def bill(settings: "AwsSettings", counts: Mapping[str, int]) -> Bill:
    """Fixed cost, GPU hours and what comes on top, from the number of resources of each type."""
    gpus, services = gpu_catalog(), service_catalog()
    return Bill(
        fixed=tuple(fixed_costs(settings, counts)),
        pools=tuple(pool_price(pool, settings) for pool in pools_with_twins(settings.pools)),
        usage=(*storage_notes(settings), *usage_notes(settings, counts)),
        source=f"{gpus.source}, {settings.region}: GPU nodes as of {gpus.as_of}, all else as of "
        f"{services.as_of}. Spot prices are typical, and move by zone and by hour.",
    )


def pool_price(pool: "Pool", settings: "AwsSettings") -> PoolPrice:
    """Spot and list price of a pool's first instance type, in the stack's region."""
    catalog = gpu_catalog()
    factor = catalog.region_factors[settings.region]
    first = catalog.types[pool.instance_types[0]]
    return PoolPrice(
        pool=pool.name,
        instance_type=first.name,
        gpu=first.gpu,
        gpus_per_node=first.gpus,
        is_spot=pool.capacity == contract.CAPACITY_SPOT,
        most_nodes=pool.max_nodes * len(pool.zones or settings.zones),
        spot_usd_per_hour=round(first.typical_spot_usd_per_hour * factor, 3),
        on_demand_usd_per_hour=round(first.on_demand_usd_per_hour * factor, 4),
    )


def fixed_costs(settings: "AwsSettings", counts: Mapping[str, int]) -> list[FixedCost]:
    """The monthly bill of an idle stack."""
    prices = service_prices(settings.region)
    hourly, monthly = prices.usd_per_hour, prices.usd_per_month
    managers = settings.managers
    manager = prices.managers[managers.instance_types[0]]
    disks_gb = managers.min_nodes * managers.disk_gib
    nat, addresses = (
        counts.get("aws:ec2/natGateway:NatGateway", 0),
        counts.get("aws:ec2/eip:Eip", 0),
    )
    keys = counts.get("aws:kms/key:Key", 0)
    doors = len(settings.network.endpoints) * len(settings.zones)
    door = hourly.interface_endpoint * HOURS_PER_MONTH
    lines = [
        ("EKS control plane", "1", hourly.eks_cluster * HOURS_PER_MONTH),
        (
            f"Managers, {managers.instance_types[0]}",
            f"{managers.min_nodes}",
            managers.min_nodes * manager.usd_per_hour * HOURS_PER_MONTH,
        ),
        ("Managers' disks, gp3", f"{disks_gb} GB", disks_gb * monthly.gp3_gb),
        ("NAT gateways", f"{nat}", nat * hourly.nat_gateway * HOURS_PER_MONTH),
        ("Public IPv4 addresses", f"{addresses}", addresses * hourly.public_ipv4 * HOURS_PER_MONTH),
        *([("Interface endpoints, in each zone", f"{doors}", doors * door)] if doors else []),
        ("KMS keys", f"{keys}", keys * monthly.kms_key),
        ("EFS, empty", "0 GB", 0.0),
    ]
    if counts.get(REPOSITORY):
        stored = IMAGES_GB * prices.usd_per_gb.ecr_month
        lines.append(("Images and their cache in ECR", f"{IMAGES_GB} GB", stored))
    if settings.observability.metrics:
        gb = settings.observability.metrics_disk_gib
        lines.append(("Disk of Prometheus, gp3", f"{gb} GB", gb * monthly.gp3_gb))
    return [FixedCost(what=w, quantity=q, usd_per_month=round(usd, 2)) for w, q, usd in lines]


def usage_notes(settings: "AwsSettings", counts: Mapping[str, int]) -> list[str]:
    """What comes on top with use, by the GB; only of what the stack has."""
    gb = service_prices(settings.region).usd_per_gb
    endpoints = f", interface endpoints ${gb.endpoint_traffic:.3f}"
    notes = [f"NAT ${gb.nat_traffic:.3f}{endpoints if settings.network.endpoints else ''} per GB"]
    logs = {
        "control plane": bool(settings.cluster.log_types),
        "network flow": settings.network.flow_log_days is not None,
        "containers": settings.observability.logs,
    }
    if kept := [name for name, is_kept in logs.items() if is_kept]:
        notes.append(
            f"Logs ({', '.join(kept)}) ${gb.logs_ingest:.2f} per GB written, "
            f"${gb.logs_month:.3f} per GB-month kept"
        )
    if counts.get(REPOSITORY):
        notes.append(f"ECR ${gb.ecr_month:.2f} per GB-month")
    return [*notes, _root_disks(settings)]


def _root_disks(settings: "AwsSettings") -> str:
    """What a GPU node's disk costs while the node is there, by its size."""
    sizes = sorted({pool.disk_gib for pool in settings.pools})
    priced = [f"${root_disk_usd_per_hour(size, settings.region):.3f}" for size in sizes]
    listed = ", ".join(f"{gb} GB {usd}" for gb, usd in zip(sizes, priced, strict=True))
    return f"A GPU node's root disk of {listed} an hour, while the node is there"


def root_disk_usd_per_hour(gigabytes: int, region: str) -> float:
    """Of a GPU node that keeps images there."""
    monthly = service_prices(region).usd_per_month
    faster = IMAGE_MIB_PER_SECOND - BASE_MIB_PER_SECOND
    usd = gigabytes * monthly.gp3_gb + faster * monthly.gp3_mib_per_second
    return usd / HOURS_PER_MONTH
