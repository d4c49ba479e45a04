"""Gang scheduling: a job that names a scheduling policy is placed whole, or not at all.

Only where a gang scheduler's API is there; elsewhere the field changes nothing, as upstream's did.
A gang is of minReplicas: with more, a job that could train would wait for the last of its workers.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from spotrain.controller.model import ApplyPodGroup, Observed
from spotrain.controller.network import metadata
from spotrain.job import ElasticJob

COSCHEDULING: Final = "scheduling.x-k8s.io/v1alpha1"
"""PodGroup of the scheduler plugins of Kubernetes."""
VOLCANO: Final = "scheduling.volcano.sh/v1beta1"
GANG_APIS: Final = (COSCHEDULING, VOLCANO)
VOLCANO_SCHEDULER: Final = "volcano"
COSCHEDULING_LABEL: Final = "scheduling.x-k8s.io/pod-group"
VOLCANO_ANNOTATION: Final = "scheduling.k8s.io/group-name"


def gang_api(job: ElasticJob, observed: Observed) -> str:
    """The API version of the PodGroup that the job gets; empty: it gets none."""
    if job.run_policy.scheduling_policy is None:
        return ""
    scheduler = job.template["spec"].get("schedulerName")
    wanted = VOLCANO if scheduler == VOLCANO_SCHEDULER else COSCHEDULING
    return wanted if wanted in observed.gang_apis else ""


def form_gang(job: ElasticJob, api: str) -> tuple[ApplyPodGroup, ...]:
    """The group itself, which must be there before its pods."""
    if not api:
        return ()
    spec = {"minMember": job.min_replicas}
    group = {"apiVersion": api, "kind": "PodGroup", "metadata": metadata(job), "spec": spec}
    return (ApplyPodGroup(api, group),)


def join_gang(pod: Mapping[str, Any], job: ElasticJob, api: str) -> dict[str, Any]:
    """The pod's manifest as a member of the group."""
    member = deepcopy(dict(pod))
    if api == COSCHEDULING:
        member["metadata"]["labels"][COSCHEDULING_LABEL] = job.name
    elif api == VOLCANO:
        member["metadata"]["annotations"][VOLCANO_ANNOTATION] = job.name
    return member
