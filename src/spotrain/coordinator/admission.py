"""Whether an agent may join, as far as its hello alone tells. Pure."""

from spotrain.coordinator import protocol
from spotrain.coordinator.job import Job
from spotrain.coordinator.limits import ServerLimits
from spotrain.coordinator.refusals import Cause, Refusal

MAX_RANKS = 64
"""Of one agent: more GPUs than any node has."""


def refusal_of(hello: protocol.Hello, job: Job | None, limits: ServerLimits) -> Refusal | None:
    """None: it may show its token."""
    if hello.version not in protocol.SUPPORTED:
        versions = ", ".join(map(str, sorted(protocol.SUPPORTED)))
        words = (
            f"protocol version {hello.version} is not served, only {versions}; "
            "use an image of the same spotrain release as the controller"
        )
        return Refusal(Cause.VERSION, words)
    if job is None:
        words = f"job {hello.job!r} is not known here; was it deleted?"
        return Refusal(Cause.JOB, words, is_final=False)
    if not 1 <= hello.ranks <= MAX_RANKS:
        return Refusal(Cause.RANKS, f"{hello.ranks} ranks: an agent has 1 to {MAX_RANKS}")
    if hello.pod not in job.outboxes and len(job.outboxes) >= limits.members:
        words = f"{limits.members} agents of {hello.job!r} are connected, the most of one job"
        return Refusal(Cause.MEMBERS, words, is_final=False)
    return None
