"""Workers that were taken away rather than failed: replaced at once, counted apart.

Nodes are reclaimed, drained and preempted all day here. None of that says anything against the
training, so none of it may use up the job's patience with failures.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from spotrain.controller.drains import find_notices
from spotrain.controller.model import DeletePod, Observed, PodView, earliest
from spotrain.controller.silence import find_silence
from spotrain.controller.status import Disruption
from spotrain.job import ElasticJob

NODE_REASONS: Final = frozenset(
    {
        "Evicted",
        "NodeLost",
        "Preempting",
        # A kubelet whose machine shuts down ends its pods with these, and leaves them where they
        # are: in some clouds nobody deletes them.
        "NodeShutdown",
        "Shutdown",
        "Terminated",
        # A machine that comes back under its old name takes no pod of its former life.
        "NodeAffinity",
        "UnexpectedAdmissionError",
    }
)
"""A pod's reason when its node, the scheduler or the kubelet ended it."""
PEER_ERRORS: Final = (
    "SignalException",
    "RendezvousClosedError",
    "RendezvousConnectionError",
    "RendezvousTimeoutError",
)
"""What stock torchrun leaves behind when a peer or the rendezvous went away."""
CASCADE_SECONDS: Final = 60
"""With stock torchrun a worker that fails so soon after another was taken away fell with it."""
CLOCK_SECONDS: Final = 10
"""By which a node's clock may be behind, or its word that a pod was taken away late."""
OUT_OF_MEMORY: Final = "OOMKilled"
ANY_ERROR: Final = "Error"
"""The kubelet's word for every exit code but 0: the code says more."""
REPLACE_AFTER_SECONDS: Final = 5
"""A pod younger than this is replaced only then: a node that kills each pod at its start must not
turn the controller into a loop without a pause."""


@dataclass(frozen=True)
class Disruptions:
    fresh: tuple[tuple[PodView, str], ...]
    """Seen for the first time, each with what took it away."""
    taken: frozenset[str]
    """Uids of the failed pods that are no failures of the training."""
    mark: Disruption | None
    """The last disruption of the job, these included."""
    removals: tuple[DeletePod, ...]
    look_again: datetime | None


def is_disrupted(job: ElasticJob, pod: PodView) -> bool:
    """Did something other than the training itself end this failed pod?"""
    if pod.disrupted or pod.reason in NODE_REASONS:
        return True
    if pod.reason == OUT_OF_MEMORY or job.restart_policy == "Never":
        return False  # 137 too, but the next try needs as much memory; and Never excuses no code
    if pod.exit_code in job.disruption_exit_codes:
        return True
    return bool(job.rdzv_endpoint) and any(error in pod.message for error in PEER_ERRORS)


def find_disruptions(job: ElasticJob, observed: Observed, now: datetime) -> Disruptions:
    """Pods taken away, which of them are news, and which can be cleared for a replacement."""
    counted, notices = observed.status.counted_pods, find_notices(job, observed)
    silence = find_silence(observed, now)
    failed = [pod for pod in observed.pods if pod.phase == "Failed"]
    gone = [pod for pod in failed if is_disrupted(job, pod)]
    doomed = [pod for pod in observed.pods if pod.disrupted and pod not in gone]
    causes = {pod.uid: (pod, f"taint {taint.key}") for pod, taint in notices}
    causes |= {pod.uid: (pod, "NodeLost") for pod in silence.lost}
    causes |= {pod.uid: (pod, _cause(pod)) for pod in (*gone, *doomed)}
    news = [(pod, cause) for pod, cause in causes.values() if pod.uid not in counted]
    mark = _mark(news[0], now) if news else observed.status.last_disruption
    peers = [pod for pod in failed if pod not in gone and _fell_with(mark, job, pod)]
    news += [(pod, "its peers were") for pod in peers if pod.uid not in counted]
    cleared, ripe_at = _cleared([*gone, *peers], now)
    forced = {removal.uid for removal in silence.removals}
    noticed = [
        DeletePod(pod.name, pod.uid, None, "NodeNotice")
        for pod, _ in notices
        if not pod.disrupted and pod.uid not in forced
    ]
    return Disruptions(
        fresh=tuple(news),
        taken=frozenset(pod.uid for pod in (*gone, *peers)),
        mark=mark,
        removals=(*silence.removals, *cleared, *noticed),
        look_again=earliest(*silence.later, *ripe_at),
    )


def _cause(pod: PodView) -> str:
    said = "" if pod.exit_code and pod.reason == ANY_ERROR else pod.reason
    return said or (f"exit code {pod.exit_code}" if pod.exit_code else "disruption")


def _mark(news: tuple[PodView, str], now: datetime) -> Disruption:
    pod, cause = news
    return Disruption(pod.name, pod.node or "", cause, now)


def _fell_with(mark: Disruption | None, job: ElasticJob, pod: PodView) -> bool:
    """Did a peer's loss end this worker? Only torch's own rendezvous lets it: under the coordinator
    the survivors of a loss go on, and who fails there has failed by itself."""
    if mark is None or not job.rdzv_endpoint or job.restart_policy == "Never":
        return False
    if pod.ended_at is None or pod.created_at > mark.at or pod.reason == OUT_OF_MEMORY:
        return False
    after = (pod.ended_at - mark.at).total_seconds()
    return -CLOCK_SECONDS <= after <= CASCADE_SECONDS


def _cleared(pods: list[PodView], now: datetime) -> tuple[list[DeletePod], list[datetime]]:
    """Failed pods that make room for their replacements now, and when the others will."""
    removals, later = [], []
    for pod in pods:
        ripe_at = pod.created_at + timedelta(seconds=REPLACE_AFTER_SECONDS)
        if pod.deleting:
            continue
        if ripe_at <= now:
            removals.append(DeletePod(pod.name, pod.uid, None, "Disrupted"))
        else:
            later.append(ripe_at)
    return removals, later
