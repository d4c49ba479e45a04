"""Whether an agent may join, as far as its hello alone tells. Pure."""

from spotrain.coordinator import protocol
from spotrain.coordinator.job import Job
from spotrain.coordinator.limits import ServerLimits

MAX_RANKS = 64
"""Of one agent: more GPUs than any node has."""


def refusal_of(
    hello: protocol.Hello, job: Job | None, limits: ServerLimits
) -> protocol.Refused | None:
    """None: it may show its token. `final` tells whether it would help to try again."""
    if hello.version not in protocol.SUPPORTED:
        versions = ", ".join(map(str, sorted(protocol.SUPPORTED)))
        return protocol.Refused(
            reason=f"protocol version {hello.version} is not served, only {versions}; "
            "use an image of the same spotrain release as the controller"
        )
    if job is None:
        reason = f"job {hello.job!r} is not known here; was it deleted?"
        return protocol.Refused(reason=reason, final=False)
    if not 1 <= hello.ranks <= MAX_RANKS:
        return protocol.Refused(reason=f"{hello.ranks} ranks: an agent has 1 to {MAX_RANKS}")
    if hello.pod not in job.outboxes and len(job.outboxes) >= limits.members:
        reason = f"{limits.members} agents of {hello.job!r} are connected, the most of one job"
        return protocol.Refused(reason=reason, final=False)
    return None
