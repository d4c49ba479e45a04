"""What a stack costs while nobody trains, and what a GPU hour costs when somebody does; pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stacks.instances import gpu_catalog
from stacks.services import service_catalog

if TYPE_CHECKING:
    from stacks.schema import Pool, Settings

HOURS_PER_MONTH = 730


@dataclass(frozen=True, kw_only=True)
class FixedCost:
    """One line of the monthly bill that is there even when nothing runs."""

    what: str
    quantity: str
    usd_per_month: float


@dataclass(frozen=True, kw_only=True)
class PoolPrice:
    """What one node of a pool costs: its first instance type, in the stack's region."""

    instance_type: str
    gpus: int
    spot_usd_per_hour: float
    """Typical, not a quote: spot prices move."""
    on_demand_usd_per_hour: float

    @property
    def saving(self) -> float:
        """Share of the list price that spot saves."""
        return 1 - self.spot_usd_per_hour / self.on_demand_usd_per_hour


def pool_price(pool: "Pool", region: str) -> PoolPrice:
    """Spot and list price of a pool's first instance type."""
    catalog = gpu_catalog()
    factor = catalog.region_factors[region]
    first = catalog.types[pool.instance_types[0]]
    return PoolPrice(
        instance_type=first.name,
        gpus=first.gpus,
        spot_usd_per_hour=round(first.typical_spot_usd_per_hour * factor, 3),
        on_demand_usd_per_hour=round(first.on_demand_usd_per_hour * factor, 4),
    )


def fixed_costs(settings: "Settings", counts: Mapping[str, int]) -> list[FixedCost]:
    """The monthly bill of an idle stack, from the number of resources of each type in it."""
    hourly, monthly = service_catalog().usd_per_hour, service_catalog().usd_per_month
    managers = settings.managers
    manager = service_catalog().managers[managers.instance_types[0]]
    disks_gb = managers.min_nodes * managers.disk_gib
    nat, addresses = (
        counts.get("aws:ec2/natGateway:NatGateway", 0),
        counts.get("aws:ec2/eip:Eip", 0),
    )
    keys = counts.get("aws:kms/key:Key", 0)
    factor = gpu_catalog().region_factors[settings.region]
    lines = [
        ("EKS control plane", "1", hourly.eks_cluster * HOURS_PER_MONTH),
        (
            f"Managers, {managers.instance_types[0]}",
            f"{managers.min_nodes}",
            managers.min_nodes * manager.usd_per_hour * HOURS_PER_MONTH * factor,
        ),
        ("Managers' disks, gp3", f"{disks_gb} GB", disks_gb * monthly.gp3_gb * factor),
        ("NAT gateways", f"{nat}", nat * hourly.nat_gateway * HOURS_PER_MONTH * factor),
        ("Public IPv4 addresses", f"{addresses}", addresses * hourly.public_ipv4 * HOURS_PER_MONTH),
        ("KMS keys", f"{keys}", keys * monthly.kms_key),
        ("EFS, empty", "0 GB", 0.0),
    ]
    return [FixedCost(what=w, quantity=q, usd_per_month=round(usd, 2)) for w, q, usd in lines]


def usage_notes() -> list[str]:
    """What comes on top with use, by the GB."""
    gb = service_catalog().usd_per_gb
    return [
        f"EFS ${gb.efs_standard_month:.2f} per GB-month; in elastic mode also "
        f"${gb.efs_elastic_read:.2f} per GB read and ${gb.efs_elastic_write:.2f} written",
        f"NAT ${gb.nat_traffic:.3f}, control-plane logs ${gb.logs_ingest:.2f} per GB; "
        f"ECR ${gb.ecr_month:.2f} per GB-month",
    ]
