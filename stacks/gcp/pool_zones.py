"""Where a pool's nodes are."""

from typing import TYPE_CHECKING

from stacks.gcp.machines import machine_catalog

if TYPE_CHECKING:
    from stacks.gcp.cluster_schema import Pool
    from stacks.gcp.schema import GcpSettings


def zones_of(pool: "Pool", settings: "GcpSettings") -> tuple[str, ...]:
    """The zones that it names, else all of the stack that have its GPU; in order."""
    if pool.zones:
        return tuple(sorted(pool.zones))
    sold = machine_catalog().zones_with(pool.gpu, settings.region)
    return tuple(sorted(zone for zone in settings.zones if zone in sold))
