"""What a stack on Google Cloud costs; pure."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from spotrain import contract
from stacks.bill import HOURS_PER_MONTH, IMAGES_GB, Bill, FixedCost, PoolPrice
from stacks.gcp.machines import machine_catalog
from stacks.gcp.pool_rules import machine_of
from stacks.gcp.pool_zones import zones_of
from stacks.gcp.services import service_catalog, service_prices
from stacks.pools import pools_with_twins

if TYPE_CHECKING:
    from stacks.gcp.cluster_schema import Pool
    from stacks.gcp.schema import GcpSettings

REPOSITORY = "gcp:artifactregistry/repository:Repository"
KEY = "gcp:kms/cryptoKey:CryptoKey"


def bill(settings: "GcpSettings", counts: Mapping[str, int]) -> Bill:
    """Fixed cost, GPU hours and what comes on top, from the number of resources of each type."""
    machines, services = machine_catalog(), service_catalog()
    return Bill(
        fixed=tuple(fixed_costs(settings, counts)),
        pools=tuple(pool_price(pool, settings) for pool in pools_with_twins(settings.pools)),
        usage=tuple(usage_notes(settings, counts)),
        source=f"{machines.source}, {settings.region}: GPU nodes as of {machines.as_of}, all else "
        f"as of {services.as_of}. Spot prices are a day's, and Google changes them up to once a "
        "day.",
    )


def pool_price(pool: "Pool", settings: "GcpSettings") -> PoolPrice:
    """Spot and list price of a pool's machine with its GPUs, in the stack's region."""
    machine = machine_of(pool)
    price = machine_catalog().price(machine, settings.region)
    assert price, "a rule refuses machines that a region does not sell"
    return PoolPrice(
        pool=pool.name,
        instance_type=machine.name,
        gpu=machine.gpu,
        gpus_per_node=machine.gpus,
        is_spot=pool.capacity == contract.CAPACITY_SPOT,
        most_nodes=pool.max_nodes * len(zones_of(pool, settings)),
        spot_usd_per_hour=price.spot,
        on_demand_usd_per_hour=price.on_demand,
    )


def fixed_costs(settings: "GcpSettings", counts: Mapping[str, int]) -> list[FixedCost]:
    """The monthly bill of an idle stack."""
    prices = service_prices(settings.region)
    hourly, monthly = prices.usd_per_hour, prices.usd_per_month
    managers, storage = settings.managers, settings.storage
    nodes, disks_gb = managers.min_nodes, managers.min_nodes * managers.disk_gib
    machine = prices.managers[managers.machine_type]
    nat = nodes * hourly.nat_node + hourly.nat_address
    plane = f"GKE control plane, {settings.cluster.control_plane}"
    lines = [
        (plane, "1", hourly.gke_cluster * HOURS_PER_MONTH),
        (
            f"Managers, {managers.machine_type}",
            f"{nodes}",
            nodes * machine.usd_per_hour * HOURS_PER_MONTH,
        ),
        ("Managers' disks, pd-balanced", f"{disks_gb} GB", disks_gb * monthly.pd_balanced_gb),
        ("NAT gateway, for the managers", "1", nat * HOURS_PER_MONTH),
    ]
    if keys := counts.get(KEY, 0):
        lines.append(("KMS keys", f"{keys}", keys * monthly.kms_key))
    if storage.server is None:
        usd = storage.size_gib * filestore_usd_per_gib(settings)
        lines.append((f"Filestore, {storage.tier}", f"{storage.size_gib} GiB", usd))
    if counts.get(REPOSITORY):
        stored = IMAGES_GB * prices.usd_per_gb.registry_month
        lines.append(("Images and their cache", f"{IMAGES_GB} GB", stored))
    if settings.observability.metrics:
        gb = settings.observability.metrics_disk_gib
        lines.append(("Disk of Prometheus, pd-balanced", f"{gb} GB", gb * monthly.pd_balanced_gb))
    return [FixedCost(what=w, quantity=q, usd_per_month=round(usd, 2)) for w, q, usd in lines]


def filestore_usd_per_gib(settings: "GcpSettings") -> float:
    """A month, in the stack's tier and region."""
    gb = service_prices(settings.region).usd_per_gb
    return {
        "basic-hdd": gb.filestore_basic_hdd_month,
        "basic-ssd": gb.filestore_basic_ssd_month,
        "zonal": gb.filestore_zonal_month,
        "regional": gb.filestore_regional_month,
    }[settings.storage.tier]


def usage_notes(settings: "GcpSettings", counts: Mapping[str, int]) -> Iterator[str]:
    """What comes on top with use; only of what the stack has."""
    prices = service_prices(settings.region)
    gb, hourly = prices.usd_per_gb, prices.usd_per_hour
    if settings.cluster.control_plane == "zonal":
        yield "Google gives a billing account $74.40 a month back for one zonal cluster"
    yield f"NAT ${gb.nat_traffic:.3f} per GB, and ${hourly.nat_node:.4f} an hour for each node"
    if settings.storage.bucket:
        yield f"Bucket ${gb.bucket_month:.3f} per GB-month"
    if settings.observability.logs or settings.network.flow_logs:
        yield f"Logs ${gb.logs_ingest:.2f} per GB"
    if counts.get(REPOSITORY):
        yield f"Images ${gb.registry_month:.2f} per GB-month"
    sizes = sorted({pool.disk_gib for pool in settings.pools})
    usd = prices.usd_per_month.pd_balanced_gb / HOURS_PER_MONTH
    listed = ", ".join(f"{size} GB ${size * usd:.3f}" for size in sizes)
    yield f"A GPU node's root disk of {listed} an hour, while the node is there"
