"""What Prometheus reads of jobs, worlds and the controller's own work."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import CollectorRegistry

from spotrain.controller.cluster import Cluster
from spotrain.controller.job_collector import JobCollector
from spotrain.controller.kube import Conflict, Kube, KubeError
from spotrain.controller.limits import limits_of
from spotrain.controller.meters import Meters
from spotrain.controller.metrics import JOB_METRICS, JobFacts, job_families
from spotrain.controller.model import JobStatus
from spotrain.controller.observe import SeenPod
from spotrain.controller.probes import answering
from spotrain.controller.status import (
    Condition,
    OfferStatus,
    Progress,
    Restarts,
    Stall,
    WorldStatus,
)
from spotrain.coordinator.protocol import FROM_AGENT, decode
from spotrain.coordinator.refusals import Cause
from spotrain.coordinator.server import Coordinator
from spotrain.job import JobError, parse_job
from spotrain.kinds import PODS
from spotrain.ledger.account import Account, PlaceTotal, Totals
from spotrain.ledger.entries import Place
from spotrain.worlds.history import Chapter
from tests.controller.builders import LONG_AGO, NOW, after, document, job, pod, pool, world
from tests.controller.ledger_example import WORLD
from tests.controller.test_main_keeper import NAME, stored

RUNNING = Condition("Running", "True", last_transition_time=after(-600))
STATUS = JobStatus(
    conditions=(Condition("Created", "True", last_transition_time=LONG_AGO), RUNNING),
    start_time=LONG_AGO,
    offer=OfferStatus(pool="t4-spot", zone="a", since=LONG_AGO),
    world=WorldStatus(number=4, size=3, since=after(-300), step=900),
    progress=Progress(step=1000, at=after(-20)),
    restarts=Restarts(failures=1, disruptions=2, growths=3),
)
TRAINING = JobFacts(
    namespace="jobs",
    name="digits",
    job=job(worker={"replicas": 3}),
    status=STATUS,
    pods=(
        pod(0),
        pod(1, deleting=True),
        pod(2, "Pending", unschedulable="0/3 nodes are available"),
    ),
    world=world(4, 3, step=1010),
    reports_steps=True,
    pool=pool(),
)


class Page(CollectorRegistry):
    """One reading of some jobs."""

    def __init__(self, *facts: JobFacts, now: Any = NOW) -> None:
        super().__init__()
        self._facts, self._now = facts, now

    def collect(self) -> Iterator[Any]:
        return job_families(self._facts, self._now)

    def __str__(self) -> str:
        return generate_latest(self).decode()

    def samples(self) -> list[str]:
        return [line for line in str(self).splitlines() if not line.startswith("#")]

    def of(self, name: str) -> list[str]:
        return [line for line in self.samples() if line.startswith((f"{name}{{", f"{name} "))]


@pytest.mark.acceptance(40)
def test_a_job_that_trains_says_all_that_is_known_of_it() -> None:
    assert Page(TRAINING).samples() == [
        'spotrain_job_info{capacity="spot",gpu="t4",job="digits",namespace="jobs",'
        'pool="t4-spot",zone="a"} 1.0',
        'spotrain_job_condition{job="digits",namespace="jobs",type="Created"} 1.0',
        'spotrain_job_condition{job="digits",namespace="jobs",type="Running"} 1.0',
        'spotrain_job_condition{job="digits",namespace="jobs",type="Restarting"} 0.0',
        'spotrain_job_condition{job="digits",namespace="jobs",type="Suspended"} 0.0',
        'spotrain_job_condition{job="digits",namespace="jobs",type="BudgetExceeded"} 0.0',
        'spotrain_job_condition{job="digits",namespace="jobs",type="Succeeded"} 0.0',
        'spotrain_job_condition{job="digits",namespace="jobs",type="Failed"} 0.0',
        'spotrain_job_workers_desired{job="digits",namespace="jobs"} 3.0',
        'spotrain_job_workers_min{job="digits",namespace="jobs"} 1.0',
        'spotrain_job_workers_running{job="digits",namespace="jobs"} 1.0',
        'spotrain_job_workers_unschedulable{job="digits",namespace="jobs"} 1.0',
        'spotrain_job_gpus{job="digits",namespace="jobs"} 0.0',
        'spotrain_job_world_number{job="digits",namespace="jobs"} 4.0',
        'spotrain_job_world_size{job="digits",namespace="jobs"} 3.0',
        'spotrain_job_step{job="digits",namespace="jobs"} 1010.0',
        'spotrain_job_without_progress_seconds{job="digits",namespace="jobs"} 20.0',
        'spotrain_job_progress_deadline_seconds{job="digits",namespace="jobs"} 900.0',
        'spotrain_job_restarts_total{cause="failure",job="digits",namespace="jobs"} 1.0',
        'spotrain_job_restarts_total{cause="disruption",job="digits",namespace="jobs"} 2.0',
        'spotrain_job_restarts_total{cause="growth",job="digits",namespace="jobs"} 3.0',
        'spotrain_job_start_timestamp_seconds{job="digits",namespace="jobs"} 1.7672652e+09',
    ]


@pytest.mark.acceptance(40)
def test_every_metric_says_what_it_is() -> None:
    text = str(Page(TRAINING))
    for metric in JOB_METRICS:
        assert f"# HELP {metric.name} {metric.help}" in text
        assert f"# TYPE {metric.name} {metric.kind}" in text


def test_a_new_job_says_nothing_that_nobody_knows() -> None:
    new = replace(TRAINING, job=job(), status=JobStatus(), pods=(), world=None, pool=None)
    names = {line.split("{")[0] for line in Page(new).samples()}
    assert names == {
        "spotrain_job_condition",
        "spotrain_job_workers_desired",
        "spotrain_job_workers_min",
        "spotrain_job_workers_running",
        "spotrain_job_workers_unschedulable",
        "spotrain_job_gpus",
        "spotrain_job_world_size",
        "spotrain_job_progress_deadline_seconds",
        "spotrain_job_restarts_total",
    }


def accounted(usd: float, list_usd: float, **changes: Any) -> JobFacts:
    place = Place(pool="t4-spot", zone="a", capacity="spot")
    totals = Totals(
        until=NOW,
        wanted_seconds=100,
        useful_seconds=80,
        places=(PlaceTotal(place=place, estimated_usd=usd, list_usd=list_usd),),
        traffic_usd=0.5,
        estimated_usd=usd + 0.5,
        list_usd=list_usd,
    )
    ledger = Account(since=LONG_AGO, totals=totals)
    return replace(TRAINING, status=replace(STATUS, ledger=ledger, **changes))


def values(page: Page) -> dict[str, float]:
    """Of the account, by the last words of a metric's name."""
    names = ("useful_share", "estimated_dollars", "saved_dollars", "budget_dollars")
    found = {name: page.of(f"spotrain_job_{name}") for name in names}
    return {name: float(lines[0].split(" ")[1]) for name, lines in found.items() if lines}


def test_what_a_job_has_cost_and_saved_and_how_much_of_its_time_was_of_use() -> None:
    trained = replace(WORLD, reason="finished", restored_step=0, first_step_at=after(-90))
    facts = accounted(2.0, 6.0, history=(trained,))
    limited = replace(facts, job=job(worker={"replicas": 3}, budget={"maxDollars": 20}))
    assert values(Page(limited)) == {
        "useful_share": 0.8,
        "estimated_dollars": 2.5,
        "saved_dollars": 4.0,
        "budget_dollars": 20.0,
    }


def test_nodes_without_a_price_save_nothing_that_anybody_knows() -> None:
    assert "saved_dollars" not in values(Page(accounted(0.0, 0.0)))


def test_gpus_are_those_of_the_workers_that_are_ready() -> None:
    container = {"name": "w", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 4}}}
    big = job(worker={"replicas": 2, "template": {"spec": {"containers": [container]}}})
    facts = replace(TRAINING, job=big, pods=(pod(0), pod(1), pod(2, "Pending")))
    assert Page(facts).of("spotrain_job_gpus") == [
        'spotrain_job_gpus{job="digits",namespace="jobs"} 8.0'
    ]


def test_a_job_that_cannot_be_read_is_told_by_its_conditions() -> None:
    with pytest.raises(JobError) as refused:
        parse_job(document(minReplicas=9))
    failed = JobStatus(
        conditions=(Condition("Failed", "True"),), completion_time=NOW, start_time=NOW
    )
    page = Page(replace(TRAINING, job=refused.value, status=failed, pods=(), world=None))
    assert 'spotrain_job_condition{job="digits",namespace="jobs",type="Failed"} 1.0' in str(page)
    assert page.of("spotrain_job_workers_desired") == []
    assert len(page.of("spotrain_job_completion_timestamp_seconds")) == 1


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        pytest.param({}, ["20.0"], id="counted from the last new step"),
        pytest.param(
            {"progress": Progress(step=1, at=LONG_AGO)}, ["300.0"], id="or from a younger world"
        ),
        pytest.param(
            {"progress": Progress(step=1, at=LONG_AGO), "world": None},
            ["600.0"],
            id="or from the moment that enough workers were there",
        ),
        pytest.param({"conditions": ()}, [], id="not while it waits for workers"),
    ],
)
def test_a_job_without_progress(changes: dict[str, Any], seconds: list[str]) -> None:
    page = Page(replace(TRAINING, status=replace(STATUS, **changes)))
    lines = page.of("spotrain_job_without_progress_seconds")
    assert [line.split(" ")[1] for line in lines] == seconds


def test_a_script_that_reports_no_steps_is_never_said_to_stall() -> None:
    page = Page(replace(TRAINING, reports_steps=False))
    assert page.of("spotrain_job_without_progress_seconds") == []


def test_a_job_without_a_deadline_is_never_said_to_stall() -> None:
    """A deadline of 0 means none; as a number, every pause between two steps would be longer."""
    page = Page(replace(TRAINING, job=job(elastic={"progressDeadlineSeconds": 0})))
    assert page.of("spotrain_job_progress_deadline_seconds") == []


@pytest.mark.parametrize(("awaits", "seconds"), [(True, "3600.0"), (False, "900.0")])
def test_the_first_step_is_measured_by_its_own_deadline(awaits: bool, seconds: str) -> None:
    starting = replace(TRAINING, world=world(1, 3, step=0, awaits_first_step=awaits))
    (line,) = Page(starting).of("spotrain_job_progress_deadline_seconds")
    assert line.split(" ")[1] == seconds


def test_a_stall_that_was_answered_is_told_by_its_time() -> None:
    assert Page(TRAINING).of("spotrain_job_last_stall_timestamp_seconds") == []
    stalled = replace(STATUS, last_stall=Stall(world=3, step=900, at=after(-60)))
    (line,) = Page(replace(TRAINING, status=stalled)).of(
        "spotrain_job_last_stall_timestamp_seconds"
    )
    assert float(line.split(" ")[1]) == after(-60).timestamp()


def test_the_number_of_series_grows_with_the_jobs_and_with_nothing_else() -> None:
    jobs = [replace(TRAINING, name=f"digits-{index}") for index in range(50)]
    older = replace(STATUS, restarts=Restarts(failures=99, disruptions=99, growths=99))
    busy = [replace(facts, status=older, world=world(4000, 64)) for facts in jobs]
    assert len(Page(*jobs).samples()) == len(Page(*busy).samples()) == 50 * 22


# --- What the controller holds ---


async def record(_key: str, _number: int) -> None:
    return None


async def admit(_token: str, _hello: Any) -> str:
    return ""


Parts = tuple[Cluster, Coordinator, Meters]


@pytest.fixture
def controller() -> Iterator[Parts]:
    cluster = Cluster("", lambda _old, _new: None, lambda _name: None)
    coordinator = Coordinator(record=record, authorize=admit, clock=lambda: 0.0)
    meters = Meters()
    with meters.observing(
        jobs=JobCollector(cluster, coordinator), waiting=lambda: 2, connections=lambda: 7
    ):
        yield cluster, coordinator, meters


async def test_a_jobs_series_begin_and_end_with_the_job(controller: Parts) -> None:
    cluster, coordinator, meters = controller
    assert "digits" not in meters.page().decode()
    cluster.jobs.take(stored())
    cluster.pods.put(NAME, SeenPod("jobs", "job-uid", "digits", pod(0)))
    coordinator.set_job("jobs/digits/job-uid", limits_of(job()), number=5)
    page = meters.page().decode()
    assert 'spotrain_job_workers_running{job="digits",namespace="jobs"} 1.0' in page
    assert 'spotrain_job_world_number{job="digits",namespace="jobs"} 5.0' in page
    cluster.jobs.take(stored(), deleted=True)
    coordinator.drop_job("jobs/digits/job-uid")
    assert "digits" not in meters.page().decode()


def test_a_job_that_others_manage_is_theirs_to_tell(controller: Parts) -> None:
    cluster, _, meters = controller
    cluster.jobs.take(stored(managedBy="kueue.x-k8s.io/multikueue"))
    assert "digits" not in meters.page().decode()


def chapter(number: int, pause: float | None = None) -> Chapter:
    return Chapter(number=number, members=("a",), published_at=0.0, pause_seconds=pause)


def test_each_world_is_counted_once_and_each_pause_when_it_is_over() -> None:
    meters = Meters()
    read = meters.registry.get_sample_value
    for history in (
        (chapter(1),),
        (chapter(1), chapter(2)),
        (chapter(1, 0.4), chapter(2), chapter(3)),
        (chapter(1, 0.4), chapter(2), chapter(3, 8.0), chapter(4)),
    ):
        meters.tell_worlds("jobs/digits/uid", history)
        meters.tell_worlds("jobs/digits/uid", history)
    assert read("spotrain_worlds_formed_total") == 4
    assert read("spotrain_world_pause_seconds_count") == 2
    assert read("spotrain_world_pause_seconds_sum") == pytest.approx(8.4)
    assert read("spotrain_world_pause_seconds_bucket", {"le": "0.5"}) == 1
    meters.forget("jobs/digits/uid")
    assert meters._counted == {}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Conflict(409, "changed"), "conflict"),
        (KubeError(500, "down"), "api"),
        (OSError("no route"), "api"),
        (ZeroDivisionError(), "bug"),
    ],
)
def test_a_look_that_fails_is_counted_by_what_went_wrong(error: Exception, kind: str) -> None:
    meters = Meters()
    with pytest.raises(type(error)), meters.looking():
        raise error
    read = meters.registry.get_sample_value
    assert read("spotrain_reconcile_errors_total", {"kind": kind}) == 1
    assert read("spotrain_reconcile_seconds_count") == 1
    with meters.looking():
        pass
    assert read("spotrain_reconcile_errors_total", {"kind": kind}) == 1
    assert read("spotrain_reconcile_seconds_count") == 2


async def test_requests_to_the_api_server_are_counted_by_their_answer() -> None:
    meters = Meters()
    answers: list[Any] = [200, 409, OSError("no route")]

    class Http:
        async def request(self, *_: Any, **__: Any) -> Any:
            answer = answers.pop(0)
            if isinstance(answer, OSError):
                raise answer
            return httpx2.Response(answer, json={"message": "said"})

    kube = Kube(Http(), meters.asked)  # type: ignore[arg-type]
    await kube.get(PODS, "jobs", "a")
    with pytest.raises(Conflict):
        await kube.get(PODS, "jobs", "a")
    with pytest.raises(OSError, match="no route"):
        await kube.get(PODS, "jobs", "a")
    read = meters.registry.get_sample_value
    for code in ("200", "409", "lost"):
        assert read("spotrain_api_requests_total", {"method": "GET", "code": code}) == 1


def test_refused_agents_are_counted_by_cause_from_zero_on() -> None:
    meters = Meters()
    read = meters.registry.get_sample_value
    assert [read("spotrain_coordinator_refusals_total", {"cause": c}) for c in Cause] == [0] * 15
    meters.refused(Cause.TOKEN)
    meters.refused(Cause.TOKEN)
    assert read("spotrain_coordinator_refusals_total", {"cause": "token"}) == 2


def test_what_agents_say_and_nobody_knows_is_counted_over_all_terms() -> None:
    meters = Meters()
    text = '{"type": "finished", "world": 1, "mood": "good", "weather": "fine"}'
    for _term in range(2):
        coordinator = Coordinator(record=record, authorize=admit, ignored=meters.ignored)
        decode(text, FROM_AGENT, coordinator.ignored)
        decode('{"type": "chat"}', FROM_AGENT, coordinator.ignored)
    page = meters.page().decode()
    assert 'spotrain_coordinator_ignored_total{what="type"} 2.0' in page
    assert 'spotrain_coordinator_ignored_total{what="field"} 4.0' in page
    assert not {"chat", "mood", "weather"} & set(page.split('"'))


async def test_prometheus_reads_the_page_over_http(controller: Parts) -> None:
    cluster, _, meters = controller
    cluster.jobs.take(stored())
    async with answering("127.0.0.1", 0, lambda: True, meters.page) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: text/plain\r\n\r\n")
        head, body = (await reader.read()).split(b"\r\n\r\n", 1)
        writer.close()
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Type: text/plain; version=" in head
    families = {family.name: family for family in text_string_to_metric_families(body.decode())}
    assert families["spotrain_coordinator_connections"].samples[0].value == 7
    assert families["spotrain_reconcile_waiting_jobs"].samples[0].value == 2
    assert "spotrain_job_condition" in families
