"""Rules that hold on every cloud; pure, one rule a function."""

from collections.abc import Iterator

from spotrain import contract
from stacks.platform_schema import PlatformSettings
from stacks.problems import Problem, every

TAKEN = {
    "default": "every tool that is told no namespace puts things there",
    contract.SYSTEM_NAMESPACE: "the controller and its rights are there",
    contract.MONITORING_NAMESPACE: "Prometheus and the password of Grafana are there",
}
"""Namespace -> why jobs may not live in it."""
KUBERNETES = "kube-"
"""How the names of Kubernetes' own namespaces begin."""


def problems(settings: PlatformSettings) -> Iterator[Problem]:
    """Every broken rule of this file."""
    yield from every([jobs_have_a_namespace_of_their_own], settings)


def jobs_have_a_namespace_of_their_own(settings: PlatformSettings) -> Iterator[Problem]:
    name = settings.jobs.namespace
    why = TAKEN.get(name)
    if name.startswith(KUBERNETES):
        why = "the cluster's own services are there"
    if name.startswith(f"{contract.SYSTEM_NAMESPACE}-"):
        why = "what the platform rests on is there"
    if why:
        yield Problem(
            path="jobs.namespace",
            value=name,
            rule=f"a namespace of its own: not {', '.join(TAKEN)}, nor one that begins with "
            f"{KUBERNETES} or {contract.SYSTEM_NAMESPACE}",
            reason=f"{why}, and researchers, quotas and network policies would reach all of it",
            next_step=f"leave it out ({contract.JOB_NAMESPACE}), or name it after the team",
        )
