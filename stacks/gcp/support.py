"""Google Cloud, for a stack file that names it."""

from stacks.clouds import CloudSupport
from stacks.gcp import costs, quotas, rules
from stacks.gcp.build import build
from stacks.gcp.schema import GcpSettings


def _place(settings: GcpSettings) -> str:
    return (
        f"gcp {settings.project}, {settings.region}, {len(settings.zones)} zones, "
        f"Kubernetes {settings.cluster.version} or newer"
    )


def _reach(settings: GcpSettings, stack: str) -> str:
    return f"$(pulumi stack output login --stack {stack})"


SUPPORT = CloudSupport(
    settings=GcpSettings,
    example="stacks/gcp/everything.yaml",
    problems=rules.problems,
    warnings=rules.warnings,
    build=build,
    place=_place,
    reach=_reach,
    bill=costs.bill,
    quotas=quotas.quotas,
)
