"""How cluster-autoscaler decides: flags and priorities; pure.

Each flag is in config/flags/flags.go of releases 1.35.2 and 1.36.1; see
docs/decisions/0003-autoscaler.md for what follows from them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import yaml

NAMESPACE = "kube-system"
DISCOVERY_TAG = "k8s.io/cluster-autoscaler"
"""EKS puts `<tag>/enabled` and `<tag>/<cluster>: owned` on the groups of its node groups."""


@dataclass(frozen=True, kw_only=True)
class AutoscalerShape:
    """What a stack file decides about scaling."""

    idle_minutes: int
    """After which a node that nobody needs goes away."""
    provision_minutes: int
    """In which an ordered node must have come, before another group is tried."""


def flags(cluster_name: str, shape: AutoscalerShape) -> list[str]:
    """Every flag that differs from the autoscaler's own default, and what scaling rests on."""
    return [
        "--cloud-provider=aws",
        f"--namespace={NAMESPACE}",
        "--node-group-auto-discovery="
        f"asg:tag={DISCOVERY_TAG}/enabled,{DISCOVERY_TAG}/{cluster_name}",
        # The controller has chosen pool and zone; these decide only between equals.
        "--expander=priority,least-waste",
        f"--max-node-provision-time={shape.provision_minutes}m",
        # A group that got no capacity is closed for this long, twice as long each further time. The
        # longest is how long a job stays away from a place that failed it, so that none comes back
        # to a zone that stays closed for all of its stay; the default is half an hour.
        "--initial-node-group-backoff-duration=2m",
        "--max-node-group-backoff-duration=10m",
        f"--scale-down-unneeded-time={shape.idle_minutes}m",
        # It would count for all groups: where jobs start all the time no node would ever leave.
        "--scale-down-delay-after-add=0s",
        # An idle GPU node must go, whatever DaemonSets are on it; a manager too, with pods that
        # have a disruption budget, and empty volumes.
        "--ignore-daemonsets-utilization=true",
        "--skip-nodes-with-local-storage=false",
        "--skip-nodes-with-system-pods=false",
        # A node with a running worker stays: an ElasticJob is no controller that it knows.
        "--skip-nodes-with-custom-controller-pods=true",
        "--stderrthreshold=info",
        "--v=2",
    ]


def priorities(spot: Sequence[str], on_demand: Sequence[str]) -> str:
    """What the priority expander reads: a number, higher first, and patterns of group names."""
    ranked = {30: [f"^{name}$" for name in spot], 20: [f"^{name}$" for name in on_demand]}
    return yaml.safe_dump({**{k: v for k, v in ranked.items() if v}, 10: [".*"]})
