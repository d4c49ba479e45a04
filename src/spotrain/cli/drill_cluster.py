"""Drills in a cluster, by requests to its API server."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from spotrain.cli.cluster import Cluster
from spotrain.cli.cluster_jobs import ClusterJobs
from spotrain.cli.drill_calls import Call
from spotrain.cli.drill_plan import Strike, plan_strike
from spotrain.cli.drill_verdict import nodes_usd_per_hour
from spotrain.cli.drilling import Check, nothing_to_check
from spotrain.cli.errors import CONFLICT, NO_CLUSTER, UserError
from spotrain.cli.interrupts import undisturbed
from spotrain.cli.job_view import JobView
from spotrain.cli.platform import read_platform, read_prices
from spotrain.cli.refusals import NotAllowed, NotAnswering
from spotrain.kinds import NODES, PODS, Kind
from spotrain.ledger.prices import PriceBook
from spotrain.local.interruptions import Manner

UNDO_TRIES: Final = 5
"""Where nobody answers: a node that stays cordoned is lost to everybody."""
ACCESS_REVIEWS: Final = Kind("/apis/authorization.k8s.io/v1", "selfsubjectaccessreviews")


@dataclass(frozen=True)
class InCluster:
    """`Ground`: workers are evicted and removed with the rights of whoever drills."""

    cluster: Cluster
    pause_seconds: float = 2.0
    """Between two tries to undo something."""
    local = False

    @property
    def jobs(self) -> ClusterJobs:
        return ClusterJobs(self.cluster)

    def plan(self, manner: Manner, seen: JobView, index: int | None) -> Strike:
        strike = plan_strike(manner, seen, self.cluster.list_all(PODS), index=index)
        check_rights(self.cluster, (*strike.calls, *strike.undo))
        if manner is Manner.NODE:
            refuse_cordoned(self.cluster, strike.worker.node)
        return strike

    @contextmanager
    def struck(self, strike: Strike) -> Iterator[Check]:
        try:
            for call in strike.calls:
                _send(self.cluster, call)
            yield nothing_to_check
        finally:
            with undisturbed():
                self._undo(strike)

    def _undo(self, strike: Strike) -> None:
        try:
            for call in strike.undo:
                self._insist(call)
        except UserError as error:
            node = strike.worker.node
            raise UserError(
                f"node {node} may still be cordoned: {error.message} Next: kubectl uncordon {node}",
                exit_code=NO_CLUSTER,
            ) from None

    def _insist(self, call: Call) -> None:
        for _ in range(UNDO_TRIES - 1):
            try:
                return _send(self.cluster, call)
            except NotAnswering:
                time.sleep(self.pause_seconds)
        _send(self.cluster, call)

    def usd_per_hour(self, seen: JobView) -> float | None:
        """By the ledger's rules."""
        account = seen.status.ledger
        try:
            pools = read_platform(self.cluster).pools
        except UserError:
            return None
        book = PriceBook(pools, latest=read_prices(self.cluster))
        return nodes_usd_per_hour(account.stays, book, datetime.now(UTC)) if account else None


def refuse_cordoned(cluster: Cluster, node: str) -> None:
    """Raises UserError: what somebody else has closed is not to be opened again."""
    spec = cluster.get(NODES, node, namespace="").get("spec") or {}
    if spec.get("unschedulable"):
        raise UserError(
            f"node {node} is cordoned already: somebody drains it, and this drill would open it "
            "again. Choose another by --worker.",
            exit_code=CONFLICT,
        )


def check_rights(cluster: Cluster, calls: Sequence[Call]) -> None:
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


def _send(cluster: Cluster, call: Call) -> None:
    cluster.send(
        call.method,
        call.kind,
        call.name,
        namespace=call.namespace,
        subresource=call.subresource,
        body=call.body,
    )
