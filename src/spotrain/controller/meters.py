"""What the controller counts while it works, and the page that Prometheus reads."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from spotrain.controller.kube import FAULTS, Conflict
from spotrain.coordinator.protocol import Ignored
from spotrain.coordinator.refusals import Cause
from spotrain.worlds.history import Chapter, History

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
RECONCILE_BUCKETS: Final = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0)
PAUSE_BUCKETS: Final = (0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 900)


class Meters:
    """Counters of one process; they begin at zero with it, as Prometheus expects."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._reconcile = Histogram(
            "spotrain_reconcile_seconds",
            "How long looking at a job, deciding and acting took.",
            buckets=RECONCILE_BUCKETS,
            registry=registry,
        )
        self._errors = Counter(
            "spotrain_reconcile_errors",
            "Looks at a job that did not end well: conflict (somebody was faster), "
            "api (the API server refused or was not reached), bug.",
            ["kind"],
            registry=registry,
        )
        for kind in ("conflict", "api", "bug"):
            self._errors.labels(kind)
        self._requests = Counter(
            "spotrain_api_requests",
            "Requests to the API server by answer; lost: there was none.",
            ["method", "code"],
            registry=registry,
        )
        self._waiting = Gauge(
            "spotrain_reconcile_waiting_jobs",
            "Jobs that have a reason to be looked at and wait for it.",
            registry=registry,
        )
        self._connections = Gauge(
            "spotrain_coordinator_connections",
            "Agents that are connected to the coordinator.",
            registry=registry,
        )
        self._refusals = Counter(
            "spotrain_coordinator_refusals",
            "Connections of agents that were refused or cut off, by cause.",
            ["cause"],
            registry=registry,
        )
        for cause in Cause:
            self._refusals.labels(cause)
        self.ignored = Ignored()
        """What agents have said and nobody here knows: to be filled in by coordinators."""
        registry.register(_IgnoredCollector(self.ignored))
        self._leads = Gauge(
            "spotrain_leader",
            "1: this process leads, 0: it stands by.",
            registry=registry,
        )
        self._worlds = Counter(
            "spotrain_worlds_formed", "Worlds that were published.", registry=registry
        )
        self._pauses = Histogram(
            "spotrain_world_pause_seconds",
            "How long training stood still, from the end of a world to the next one's first step; "
            "also while the job was suspended.",
            buckets=PAUSE_BUCKETS,
            registry=registry,
        )
        self._counted: dict[str, tuple[int, int]] = {}
        """Job -> the last world that was counted, and the last one whose pause was."""

    def tell_leading(self, leads: Callable[[], bool]) -> None:
        self._leads.set_function(leads)

    @contextmanager
    def observing(
        self, *, jobs: Collector, waiting: Callable[[], float], connections: Callable[[], float]
    ) -> Iterator[None]:
        """Ask these at every reading of the page, until the context is left."""
        self.registry.register(jobs)
        self._waiting.set_function(waiting)
        self._connections.set_function(connections)
        try:
            yield
        finally:
            self.registry.unregister(jobs)
            self._waiting.set_function(lambda: 0.0)
            self._connections.set_function(lambda: 0.0)
            self._counted.clear()

    def page(self) -> bytes:
        return generate_latest(self.registry)

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Around one look at a job; what it raises is counted and goes on."""
        start = perf_counter()
        try:
            yield
        except Exception as error:
            self._errors.labels(_kind(error)).inc()
            raise
        finally:
            self._reconcile.observe(perf_counter() - start)

    def asked(self, method: str, code: int | None) -> None:
        """A request to the API server was answered, or (None) was not."""
        self._requests.labels(method, str(code or "lost")).inc()

    def refused(self, cause: Cause) -> None:
        """A connection of an agent was refused or cut off."""
        self._refusals.labels(cause).inc()

    def tell_worlds(self, job: str, history: History) -> None:
        """Count what is new in a job's history."""
        counted, paused = self._counted.get(job, (0, 0))
        for chapter in _since(history, min(counted, paused)):
            if chapter.number > counted:
                self._worlds.inc()
            if chapter.number > paused and chapter.pause_seconds is not None:
                self._pauses.observe(chapter.pause_seconds)
                paused = chapter.number
        last = history[-1].number if history else 0
        self._counted[job] = max(counted, last), paused

    def forget(self, job: str) -> None:
        """The job was deleted."""
        self._counted.pop(job, None)


class _IgnoredCollector(Collector):
    def __init__(self, ignored: Ignored) -> None:
        self._ignored = ignored

    def collect(self) -> Iterator[Metric]:
        family = CounterMetricFamily(
            "spotrain_coordinator_ignored",
            "Types of messages, and fields of messages, that agents have sent and are not known.",
            labels=["what"],
        )
        family.add_metric(["type"], self._ignored.types)
        family.add_metric(["field"], self._ignored.fields)
        yield family


def _kind(error: Exception) -> str:
    if isinstance(error, Conflict):
        return "conflict"
    return "api" if isinstance(error, FAULTS) else "bug"


def _since(history: History, number: int) -> Iterable[Chapter]:
    return [chapter for chapter in history if chapter.number > number]
