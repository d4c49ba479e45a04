"""AWS, for a stack file that names it."""

from stacks.aws import costs, quotas, rules
from stacks.aws.build import build
from stacks.aws.schema import AwsSettings
from stacks.clouds import CloudSupport


def _place(settings: AwsSettings) -> str:
    return (
        f"aws {settings.region}, {len(settings.zones)} zones, Kubernetes {settings.cluster.version}"
    )


def _reach(settings: AwsSettings, stack: str) -> str:
    return f"$(pulumi stack output login --stack {stack})"


SUPPORT = CloudSupport(
    settings=AwsSettings,
    example="stacks/aws/everything.yaml",
    problems=rules.problems,
    warnings=rules.warnings,
    build=build,
    place=_place,
    reach=_reach,
    bill=costs.bill,
    quotas=quotas.quotas,
)
