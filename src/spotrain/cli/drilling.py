"""Interrupting a job for real, and watching what becomes of it."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from spotrain.cli import output
from spotrain.cli.cluster import Cluster
from spotrain.cli.cluster_jobs import ClusterJobs
from spotrain.cli.drill_calls import Call
from spotrain.cli.drill_plan import Manner, Strike, plan_strike, steady_world, unsteady
from spotrain.cli.drill_real import ByAws
from spotrain.cli.drill_verdict import Outcome, goes_on, is_whole, nodes_usd_per_hour, worlds_ended
from spotrain.cli.errors import CONFLICT, NO_CLUSTER, UserError
from spotrain.cli.job_view import JobView, view
from spotrain.cli.platform import read_platform, read_prices
from spotrain.cli.refusals import NotAllowed
from spotrain.cli.wording import span
from spotrain.kinds import NODES, PODS, Kind
from spotrain.ledger.prices import PriceBook

LOOK_SECONDS: Final = 1.0
"""Between two looks at the job; what is measured stands in its ledger, so none is missed."""
ACCESS_REVIEWS: Final = Kind("/apis/authorization.k8s.io/v1", "selfsubjectaccessreviews")


@dataclass(frozen=True)
class Drill:
    """One job that is interrupted."""

    cluster: Cluster
    name: str
    worker: int | None
    timeout_seconds: float
    """For one interruption, until the job is whole again."""
    by_aws: ByAws | None = None
    """None: interruptions are requests to the API server."""

    def plan(self, manner: Manner) -> Strike:
        """Raises UserError: the job does not train, there is no such worker, or its node is
        cordoned already."""
        seen = self._look()
        steady_world(seen)
        strike = plan_strike(manner, seen, self.cluster.list_all(PODS), index=self.worker)
        if strike.manner is Manner.NODE:
            self._refuse_cordoned(strike.worker.node)
        return self.by_aws.aim(self.name, strike) if self.by_aws else strike

    def run(self, manner: Manner) -> Outcome:
        """Interrupt the job once it is steady, and follow it until it is whole again."""
        began = time.monotonic()
        if not self._until(lambda seen: not unsteady(seen), began):
            steady_world(self._look())
        strike = self.plan(manner)
        seen = self._look()
        before, uid = steady_world(seen), seen.document["metadata"]["uid"]
        rate = self._usd_per_hour(seen)
        output.say(f"{manner}: {strike.said}.")
        began = time.monotonic()
        with self.by_aws.struck(strike) if self.by_aws else struck(self.cluster, strike):
            trains = self._until(lambda seen: goes_on(seen, before.number), began, uid)
        whole = trains and self._until(lambda seen: is_whole(seen, before), began, uid)
        seconds = time.monotonic() - began
        last = self._look()
        return Outcome(
            strike=strike,
            worlds=worlds_ended(last, before.number),
            usd_per_hour=rate,
            whole_seconds=seconds if whole else None,
            problem="" if whole else self._not_whole(last),
        )

    def _look(self) -> JobView:
        return view(ClusterJobs(self.cluster).get(self.name))

    def _until(self, holds: Callable[[JobView], bool], began: float, uid: str = "") -> bool:
        """Whether it came to hold before the time was over. Raises UserError where the job has
        ended or gone."""
        while True:
            seen = self._look()
            if seen.status.finished or (uid and seen.document["metadata"]["uid"] != uid):
                raise UserError(
                    f"{self.name} has ended ({seen.state}) before the drill had: nothing can be "
                    "measured of it. Drill a job that trains for longer.",
                    exit_code=CONFLICT,
                )
            if holds(seen):
                return True
            if time.monotonic() - began >= self.timeout_seconds:
                return False
            time.sleep(LOOK_SECONDS)

    def _not_whole(self, last: JobView) -> str:
        state = unsteady(last) or "is still in the world that was to be interrupted"
        return f"after {span(self.timeout_seconds)} {self.name} {state}"

    def _usd_per_hour(self, seen: JobView) -> float | None:
        """What the job's nodes cost now, by the ledger's rules."""
        account = seen.status.ledger
        try:
            pools = read_platform(self.cluster).pools
        except UserError:
            return None
        book = PriceBook(pools, latest=read_prices(self.cluster))
        return nodes_usd_per_hour(account.stays, book, datetime.now(UTC)) if account else None

    def _refuse_cordoned(self, node: str) -> None:
        spec = self.cluster.get(NODES, node, namespace="").get("spec") or {}
        if spec.get("unschedulable"):
            raise UserError(
                f"node {node} is cordoned already: somebody drains it, and this drill would open "
                "it again. Choose another by --worker.",
                exit_code=CONFLICT,
            )


def check_rights(cluster: Cluster, calls: tuple[Call, ...]) -> None:
    """Before anything is done. Raises UserError, with who may."""
    for call in calls:
        spec = {"resourceAttributes": call.right}
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
        told = cluster.create(ACCESS_REVIEWS, {**body, "spec": spec}, namespace="")
        if not told["status"].get("allowed"):
            raise refused(call)


def refused(call: Call) -> UserError:
    what = "/".join(filter(None, (call.kind.plural, call.subresource)))
    if call.kind == NODES:
        return NotAllowed(
            f"you may not {call.right['verb']} {what}, as no researcher may: nodes are shared. "
            "Ask an administrator of the cluster to drill a node, or take --kind notice, which "
            "tells the worker the same."
        )
    return NotAllowed(
        f"you may not {call.right['verb']} {what} in namespace {call.namespace!r}. Ask the "
        "administrator for the rights of k8s/researchers.yaml."
    )


@contextmanager
def struck(cluster: Cluster, strike: Strike) -> Iterator[None]:
    """Interrupt by requests to the API server; on leaving, undo what is not to stay."""
    try:
        for call in strike.calls:
            _send(cluster, call)
        yield
    finally:
        with _undisturbed():
            _undo(cluster, strike)


def _undo(cluster: Cluster, strike: Strike) -> None:
    try:
        for call in strike.undo:
            _send(cluster, call)
    except UserError as error:
        node = strike.worker.node
        raise UserError(
            f"node {node} may still be cordoned: {error.message} Next: kubectl uncordon {node}",
            exit_code=NO_CLUSTER,
        ) from None


def _send(cluster: Cluster, call: Call) -> None:
    cluster.send(
        call.method,
        call.kind,
        call.name,
        namespace=call.namespace,
        subresource=call.subresource,
        body=call.body,
    )


@contextmanager
def _undisturbed() -> Iterator[None]:
    """A second Ctrl-C does not cut off what the first one has to undo."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
