"""What must hold for every stack file: one function an invariant, which yields what breaks it.

Findings instead of assertions, so that one function serves two tests: no stack breaks it, and each
of its mutations (mutations.py) does.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from spotrain import contract
from stacks.platform_schema import PlatformSettings
from stacks.recorder import Recording, Registration


@dataclass(frozen=True, kw_only=True)
class Built:
    """A stack file, and what the program registered for it."""

    name: str
    settings: PlatformSettings
    recording: Recording

    def of_type(self, *kinds: str) -> list[Registration]:
        return [r for kind in kinds for r in self.recording.of_type(kind)]

    def named(self, name: str) -> Registration:
        """The one custom resource of that name and with inputs."""
        found = [r for r in self.recording.resources if r.name == name and r.custom]
        if len(found) != 1:
            raise LookupError(f"{len(found)} resources are named {name}")
        return found[0]

    def named_plane(self) -> Registration:
        """The control plane of EKS."""
        (plane,) = self.recording.of_type("eks:index:Cluster")
        return plane

    def objects(self) -> list[Registration]:
        """Kubernetes objects, Helm releases left out."""
        return [
            r
            for r in self.recording.resources
            if r.type.startswith("kubernetes:") and not r.type.startswith("kubernetes:helm")
        ]


Check = Callable[[Built], Iterable[str]]
EVERY_CLOUD: dict[str, Check] = {}
AWS: dict[str, Check] = {}
GCP: dict[str, Check] = {}
NEWEST = "1.36"


def version_of(settings: PlatformSettings) -> str:
    """The version whose API server must accept the stack's objects."""
    cluster = getattr(settings, "cluster", None)
    return str(cluster.version) if cluster else NEWEST


def on_every_cloud(check: Check) -> Check:
    """Holds wherever the platform runs."""
    EVERY_CLOUD[check.__name__] = check
    return check


def on_aws(check: Check) -> Check:
    """Holds for stacks on AWS."""
    AWS[check.__name__] = check
    return check


def on_gcp(check: Check) -> Check:
    """Holds for stacks on Google Cloud."""
    GCP[check.__name__] = check
    return check


def offered_pools(built: Built) -> list[dict[str, Any]]:
    """The pools as jobs are told of them."""
    config = built.named("elastic-jobs-pools").inputs
    pools: list[dict[str, Any]] = yaml.safe_load(config["data"][contract.POOLS_KEY])
    return pools


def workloads(built: Built) -> list[Registration]:
    """Whatever runs pods that are no DaemonSet's."""
    kinds = ("apps/v1:Deployment", "apps/v1:StatefulSet", "batch/v1:Job", "batch/v1:CronJob")
    return built.of_type(*(f"kubernetes:{kind}" for kind in kinds))


def strings(value: object) -> Iterator[str]:
    """Every text in a nest of lists and mappings."""
    if isinstance(value, str):
        yield value
    if isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from strings(child)


def pod_of(body: dict[str, Any]) -> dict[str, Any] | None:
    """The pod template of a workload."""
    spec = body.get("spec", {})
    spec = spec.get("jobTemplate", {}).get("spec", spec)
    pod: dict[str, Any] | None = spec.get("template", {}).get("spec")
    return pod
