"""What nodes draw on a quota of Compute Engine, and whether there is as much."""

from collections.abc import Sequence
from dataclasses import dataclass

from spotrain.clouds.project import Project, Quota
from spotrain.doctor.finding import Finding, fail, passed, warn


@dataclass(frozen=True)
class Draw:
    name: str
    """Of the pool."""
    each: int
    """What one node takes: GPUs, vCPUs or GB."""
    nodes: int
    """Most of them."""
    trains: bool = True
    """False: what the pools of GPUs need beside them, such as managers, and what is there first."""


def judge(quota: Quota, draws: Sequence[Draw], *, unit: str, where: str, fix: str) -> Finding:
    """Against the most that may be wanted; too little for one node that trains is a failure."""
    most = sum(draw.each * draw.nodes for draw in draws)
    least = min(draw.each for draw in [d for d in draws if d.trains] or draws)
    names = ", ".join(dict.fromkeys(draw.name for draw in draws))
    check = f"quota {quota.metric}"
    said = (
        f"{quota.limit:.0f} {unit} in {where}, {quota.usage:.0f} in use; {names} may want {most}."
    )
    if quota.limit < least:
        return fail(check, f"{said} The smallest node has {least}: none can be had.", fix)
    if quota.limit < most:
        return warn(check, said, fix)
    return passed(check, said)


def ask_for_more(project: Project) -> str:
    return (
        "ask for more in the console, IAM & Admin, Quotas; gcloud compute regions describe "
        f"{project.region} --project {project.id} shows what there is"
    )
