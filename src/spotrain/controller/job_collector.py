"""From what the controller holds of its jobs to what Prometheus is told of them."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from spotrain.controller.cluster import Cluster
from spotrain.controller.metrics import JobFacts, job_families
from spotrain.controller.observe import SeenJob, view_world
from spotrain.controller.reconcile import OURS
from spotrain.coordinator.server import Coordinator
from spotrain.job import JobError


class JobCollector(Collector):
    """Asks at every reading, so that a job's series end with the job."""

    def __init__(self, cluster: Cluster, coordinator: Coordinator) -> None:
        self._cluster = cluster
        self._coordinator = coordinator

    def collect(self) -> Iterable[Metric]:
        now = datetime.now(UTC)
        return job_families(self._facts(now), now)

    def _facts(self, now: datetime) -> Iterator[JobFacts]:
        pools = {pool.name: pool for pool in self._cluster.offered_pools}
        clock = self._coordinator.clock()
        for seen in self._cluster.jobs.items.values():
            if not _is_ours(seen):
                continue
            report = self._coordinator.report(seen.key)
            offer = seen.status.offer
            yield JobFacts(
                namespace=seen.namespace,
                name=seen.name,
                job=seen.job,
                status=seen.status,
                pods=self._cluster.pods_of(seen),
                world=view_world(report, clock=clock, now=now) if report else None,
                reports_steps=bool(report and report.uses_session),
                pool=pools.get(offer.pool) if offer else None,
            )


def _is_ours(seen: SeenJob) -> bool:
    return isinstance(seen.job, JobError) or seen.job.managed_by in OURS
