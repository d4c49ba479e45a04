"""Who holds and wants what in the cluster, kept up to date pod by pod, and whom a change concerns.

A job's keeper looks at its own pods only. What other jobs hold reaches it as claims, a few numbers
each; when a claim changes, the jobs that wait or grow beside it look again.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from spotrain.controller.board import Board, Claim, ScaleUp
from spotrain.controller.claims import claim_of, sweep_of
from spotrain.controller.mirror import Name
from spotrain.controller.observe import SeenJob, SeenPod
from spotrain.controller.placement import is_placed
from spotrain.controller.scale_ups import Word
from spotrain.controller.status import BUDGET_EXCEEDED, JobStatus
from spotrain.job import ElasticJob, Price, Terms, place_of
from spotrain.job.terms import UNKNOWN


class Survey:
    """`concerned` is told of jobs beside which something has changed."""

    def __init__(self, concerned: Callable[[Name], None], max_gpus: int | None = None) -> None:
        self._concerned = concerned
        self._max_gpus = max_gpus
        self._jobs: dict[Name, SeenJob] = {}
        self._pods: dict[str, dict[str, SeenPod]] = defaultdict(dict)
        """Uid of the job -> its pods by name."""
        self._pods_by_uid: dict[str, SeenPod] = {}
        self._words: dict[str, dict[Name, ScaleUp]] = defaultdict(dict)
        """Uid of the pod -> the autoscaler's events of it."""
        self._claims: dict[Name, Claim] = {}

    def board(
        self,
        seen: SeenJob,
        *,
        prices: Sequence[Price],
        terms: Terms = UNKNOWN,
        refusal: str = "",
    ) -> Board:
        """What concerns this job beside its own pods."""
        name = (seen.namespace, seen.name)
        return Board(
            prices=tuple(prices),
            terms=terms,
            scale_ups=self._words_on(seen),
            claims=tuple(claim for other, claim in self._claims.items() if other != name),
            since=seen.since,
            max_gpus=self._max_gpus,
            refusal=refusal,
        )

    def pods_of(self, uid: str) -> Iterable[SeenPod]:
        """The pods that the job of that uid controls."""
        return self._pods.get(uid, {}).values()

    def put_job(self, old: SeenJob | None, new: SeenJob | None) -> None:
        seen = new or old
        if seen is None:
            return
        name = (seen.namespace, seen.name)
        if new:
            self._jobs[name] = new
        else:
            self._jobs.pop(name, None)
        self._reckon(name)

    def expect(self, seen: SeenJob, status: JobStatus) -> None:
        """The place that was just decided is claimed before it is on record, lest two jobs take the
        last room of a place at once. What is stored next counts again."""
        self._jobs[seen.namespace, seen.name] = replace(seen, status=status)
        self._reckon((seen.namespace, seen.name))

    def put_pod(self, old: SeenPod | None, new: SeenPod | None) -> None:
        if old:
            self._pods[old.owner].pop(old.view.name, None)
            self._pods_by_uid.pop(old.view.uid, None)
            if not self._pods[old.owner]:
                del self._pods[old.owner]
        if new:
            self._pods[new.owner][new.view.name] = new
            self._pods_by_uid[new.view.uid] = new
        for name in {(pod.namespace, pod.job_name) for pod in (old, new) if pod}:
            self._reckon(name)

    def put_word(self, event: Name, old: Word | None, new: Word | None) -> None:
        for word in (old, new):
            if word is None:
                continue
            uid, said = word
            if word is new:
                self._words[uid][event] = said
            else:
                self._words[uid].pop(event, None)
            if not self._words[uid]:
                del self._words[uid]
            if pod := self._pods_by_uid.get(uid):
                self._reckon((pod.namespace, pod.job_name))
                self._concerned((pod.namespace, pod.job_name))

    def place_changed(self, pool: str, zone: str) -> None:
        """A node came, went, or changed there."""
        places = (place_of(pool, zone), place_of(pool, ""))
        for name, claim in list(self._claims.items()):
            if claim.place in places and claim.is_waiting:
                self._concerned(name)

    def _reckon(self, name: Name) -> None:
        """The claim as it is now; others hear of it if it has changed."""
        before, seen = self._claims.pop(name, None), self._jobs.get(name)
        now = self._claim(seen) if seen else None
        if now:
            self._claims[name] = now
        if now != before:
            self._tell_neighbours(name, before, now)

    def _claim(self, seen: SeenJob) -> Claim | None:
        job = seen.job
        if not isinstance(job, ElasticJob):
            return None
        if not (is_placed(job) or self._max_gpus is not None or sweep_of(job)):
            return None
        if seen.status.is_true(BUDGET_EXCEEDED):
            job = replace(job, suspend=True)
        pods = [pod.view for pod in self.pods_of(seen.uid)]
        return claim_of(
            job,
            pods,
            place=seen.status.offer.place if seen.status.offer else "",
            since=seen.since,
            status=seen.status,
            scale_ups=self._words_on(seen),
        )

    def _words_on(self, seen: SeenJob) -> dict[str, ScaleUp]:
        """Pod uid -> the last word on it, of the job's pods."""
        uids = [pod.view.uid for pod in self.pods_of(seen.uid)]
        return {
            uid: max(self._words[uid].values(), key=lambda word: word.at)
            for uid in uids
            if uid in self._words
        }

    def _tell_neighbours(self, name: Name, before: Claim | None, now: Claim | None) -> None:
        changed = (before, now)
        places = {claim.place for claim in changed if claim and claim.place}
        people = {claim.researcher for claim in changed if claim}
        sweep = _sweep_with_news(*changed)
        for other, claim in list(self._claims.items()):
            if other == name or not claim.wants_more:
                continue
            if (
                claim.place in places
                or (self._max_gpus and claim.researcher in people)
                or (sweep and claim.sweep == sweep and not claim.held)
            ):
                self._concerned(other)


def _sweep_with_news(before: Claim | None, now: Claim | None) -> str:
    """The sweep whose next job may start: this one has let go, or wants nothing any more."""
    if before is None or not before.sweep:
        return ""
    let_go = now is None or (before.held and not now.held) or (before.least and not now.least)
    return before.sweep if let_go else ""
