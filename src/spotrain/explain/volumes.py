"""Workers whose volumes do not come, and claims that have none."""

from collections.abc import Iterator
from typing import Final

from spotrain.controller.model import PodView
from spotrain.explain.absent import find_absent
from spotrain.explain.cause import Cause, Gravity, ended
from spotrain.explain.situation import Case

MOUNT_EVENTS: Final = ("FailedMount", "FailedAttachVolume", "FailedMapVolume")


def find_unmounted_volumes(case: Case) -> Iterator[Cause]:
    """What keeps a pod from its volumes; each fault is told once, of the first pod that has it."""
    for pod in case.housed:
        message = volume_fault(case, pod)
        if message:
            yield _volume_cause(case, pod, message)
            return


def find_missing_claims(case: Case) -> Iterator[Cause]:
    """Claims that the template mounts, and that are not there or have no volume."""
    if case.raw.claims is None or case.job is None:
        return
    there = {claim["metadata"]["name"]: claim for claim in case.raw.claims}
    for volume in case.job.template["spec"].get("volumes") or ():
        name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if name and name not in there:
            known = ", ".join(sorted(there)) or "none"
            yield Cause(
                reason="ClaimMissing",
                gravity=Gravity.BLOCKED,
                said=f"It mounts the claim {name}, which is not in the namespace {case.namespace} "
                f"(there: {known}). Correct the name, or have the claim made.",
                command=case.kubectl("get pvc"),
            )
        elif name and (there[name].get("status") or {}).get("phase") != "Bound":
            phase = (there[name].get("status") or {}).get("phase", "Pending")
            yield Cause(
                reason="ClaimNotBound",
                gravity=Gravity.BLOCKED,
                said=f"The claim {name} that it mounts has no volume (it is {phase}). An "
                "administrator must mend the storage.",
                command=case.kubectl(f"describe pvc {name}"),
            )


def volume_fault(case: Case, pod: PodView) -> str:
    """The node's last word on the pod's volumes, while none of its containers has begun."""
    event = case.told_of(pod, *MOUNT_EVENTS)
    later = case.told_of(pod, "Pulling", "Pulled", "Created", "Started")
    return event.message if event and not (later and later.at > event.at) else ""


def _volume_cause(case: Case, pod: PodView, message: str) -> Cause:
    return find_absent(case, message) or Cause(
        reason="VolumeNotMounted",
        gravity=case.blocked,
        said=f"The node {pod.node} cannot mount a volume of {pod.name}: {ended(message)} It is "
        "tried again by itself; an administrator finds the reason in the storage driver's log.",
        command=case.kubectl(f"describe pod {pod.name}"),
    )
