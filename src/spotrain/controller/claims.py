"""What jobs hold and need, and how many GPUs the jobs of one researcher may hold together."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from spotrain import contract
from spotrain.controller.board import Board, Claim, ScaleUp
from spotrain.controller.conditions import has_run
from spotrain.controller.model import JobStatus, PodView
from spotrain.controller.offers import Obstacle
from spotrain.controller.replicas import done, least
from spotrain.controller.share import UNLIMITED, Share, share
from spotrain.job import ElasticJob

PRIORITIES: Final = {contract.PRIORITY_LOW: -1, contract.PRIORITY_HIGH: 1}
"""Order of the platform's priority classes; any other class, and none, counts as normal."""
LIVING: Final = ("Pending", "Running")
RESEARCHER_LIMIT: Final = "ResearcherLimit"
RESEARCHER_LIMIT_TOO_LOW: Final = "ResearcherLimitTooLow"
"""No other job's end helps: the job needs more than its researcher may ever hold."""


def researcher(job: ElasticJob) -> str:
    """Whose the job is. All without a label share one allowance, or the label would be a way
    around it."""
    return job.labels.get(contract.LABEL_RESEARCHER, "")


def sweep_of(job: ElasticJob) -> str:
    """The sweep that the job belongs to; empty: none."""
    name = job.labels.get(contract.LABEL_SWEEP, "")
    return f"{job.namespace}/{name}" if name else ""


def priority(job: ElasticJob) -> int:
    return PRIORITIES.get(job.template["spec"].get("priorityClassName", ""), 0)


def claim_of(
    job: ElasticJob,
    pods: Iterable[PodView],
    *,
    place: str,
    since: datetime,
    status: JobStatus,
    scale_ups: Mapping[str, ScaleUp] | None = None,
) -> Claim:
    """The job's claim on `place`. One that has ended or is suspended needs nothing more."""
    pods = tuple(pods)
    held = [pod for pod in pods if pod.phase in LIVING]
    staying = [pod for pod in held if not pod.deleting and pod.place in ("", place)]
    words = [(scale_ups or {}).get(pod.uid) for pod in staying if pod.node is None]
    return Claim(
        job=f"{job.namespace}/{job.name}/{job.uid}",
        place=place,
        researcher=researcher(job),
        priority=priority(job),
        since=since,
        gpus_per_worker=job.gpus_per_worker,
        started=has_run(status),
        least=0 if status.finished or job.suspend else least(job, pods),
        housed=sum(pod.node is not None for pod in staying),
        held=len(held),
        wanted=0 if status.finished or job.suspend else job.replicas - len(done(pods)),
        starved=any(word and word.kind != "ordered" for word in words),
        sweep=sweep_of(job),
    )


def allowance(mine: Claim, board: Board) -> Share:
    """The job's share of what its researcher may hold."""
    if board.max_gpus is None:
        return UNLIMITED
    siblings = [
        claim
        for claim in board.claims
        if claim.researcher == mine.researcher and not _is_too_large(claim, board.max_gpus)
    ]
    return share(mine, siblings, board.max_gpus)


def over_limit(mine: Claim, board: Board, allowed: Share) -> Obstacle | None:
    """Why the job must wait for its researcher's other jobs, if its allowance says that it must."""
    limit = board.max_gpus
    if limit is None or not allowed.is_in_line:
        return None
    needs = mine.least * mine.gpus_per_worker
    whose = f"researcher {mine.researcher!r}" if mine.researcher else "jobs without a researcher"
    rule = (
        f"minReplicas needs {needs} GPUs; {whose} may hold {limit} at a time (label "
        f"{contract.LABEL_RESEARCHER}, setting jobs.max_gpus_per_researcher)."
    )
    if _is_too_large(mine, limit):
        return Obstacle(RESEARCHER_LIMIT_TOO_LOW, f"{rule} It can never start: lower minReplicas.")
    return Obstacle(RESEARCHER_LIMIT, f"{rule} It starts when others of theirs have ended.")


def _is_too_large(claim: Claim, limit: int) -> bool:
    """A job that can never start must not keep those behind it waiting."""
    return claim.held == 0 and claim.least * claim.gpus_per_worker > limit
