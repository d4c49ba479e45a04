"""Carrying out plans: in which order, and what stops it."""

import asyncio
import logging
from dataclasses import replace
from typing import Any

import pytest

from spotrain.controller.actions import event_body
from spotrain.controller.cluster import Cluster
from spotrain.controller.keeper import Keeper
from spotrain.controller.kube import Conflict, KubeError, NotFound
from spotrain.controller.meters import Meters
from spotrain.controller.model import Event
from spotrain.controller.observe import SeenJob, SeenPod, view_job
from spotrain.controller.tokens import Doorkeeper
from spotrain.controller.trust import Publisher
from spotrain.coordinator.server import Coordinator
from spotrain.kinds import Object
from tests.controller.builders import NOW, document, pod
from tests.controller.kube_fake import Enough, ScriptedKube

KEY = "jobs/digits/job-uid"
MADE: Object = {"metadata": {}}
NAME = ("jobs", "digits")


def stored(status: Any = None, version: str = "1", **spec: Any) -> Object:
    given = document(**spec)
    given["metadata"]["resourceVersion"] = version
    return {**given, "status": status or {}}


async def record(_key: str, _number: int) -> None:
    raise AssertionError("no world is formed here")


class Kept:
    """One job's keeper over a scripted API server; it runs until the script is through."""

    def __init__(self, job: Object, *pods: SeenPod, **answers: list[Any]) -> None:
        self.script = ScriptedKube({"apply": [{} for _ in range(9)], **answers})
        kube: Any = self.script
        self.cluster = Cluster("", lambda _old, _new: None, lambda _name: None)
        for mirror in (*self.cluster.mirrors, *self.cluster.advisers):
            mirror.synced.set()
        self.cluster.jobs.take(job)
        for seen in pods:
            self.cluster.pods.put(("jobs", seen.view.name), seen)
        self.coordinator = Coordinator(record=record, authorize=self._nobody)
        self.doorkeeper = Doorkeeper(kube, lambda _namespace, _name: None)
        self.meters = Meters()
        self.keeper = Keeper(
            NAME,
            kube=kube,
            cluster=self.cluster,
            coordinator=self.coordinator,
            doorkeeper=self.doorkeeper,
            publisher=Publisher(kube, "authority"),
            meters=self.meters,
            turn=asyncio.Semaphore(1),
            node_lost_seconds=30,
        )

    @staticmethod
    async def _nobody(_token: str, _hello: Any) -> str:
        return "nobody"

    async def run(self) -> list[tuple[str, str]]:
        """What was asked of the API server, as (verb, kind), the last request included."""
        with pytest.raises(Enough):
            await self.keeper.run()
        return [(request[0], request[1]) for request in self.script.asked]


def seen(job: Object) -> SeenJob:
    found = view_job(job)
    assert found is not None
    return found


def surplus() -> list[SeenPod]:
    """Two more than the job asks for."""
    return [SeenPod("jobs", "job-uid", "digits", pod(index)) for index in range(5)]


@pytest.mark.acceptance(34)
async def test_what_is_decided_is_on_record_before_pods_go() -> None:
    kept = Kept(stored(), *surplus(), patch=[stored({"state": "Running"}, "2")], delete=[{}, {}])
    await kept.keeper._look()
    assert [request[0] for request in kept.script.asked] == ["patch", "delete", "delete"]


async def test_no_pod_starts_before_its_protection_and_the_first_status_tells_of_all() -> None:
    pods = [made(0, 5), made(1, 6), made(2, 7)]
    kept = Kept(stored(), patch=[Enough()], create=pods)
    assert await kept.run() == [
        ("apply", "networkpolicies"),
        ("apply", "configmaps"),
        ("create", "pods"),
        ("create", "pods"),
        ("create", "pods"),
        ("patch", "elasticjobs/status"),
    ]
    ((_, body),) = kept.script.of("patch")
    assert body["status"]["replicaStatuses"]["Worker"]["active"] == 3


async def test_a_new_job_whose_pods_cannot_all_be_made_gets_its_status_all_the_same() -> None:
    kept = Kept(stored(), patch=[Enough()], create=[made(0, 5), KubeError(500, "no")])
    assert (await kept.run())[-3:] == [
        ("create", "pods"),
        ("create", "pods"),
        ("patch", "elasticjobs/status"),
    ]


async def test_pods_that_were_made_before_a_death_are_recorded_and_not_made_again() -> None:
    pods = [SeenPod("jobs", "job-uid", "digits", pod(index)) for index in range(3)]
    kept = Kept(stored(), *pods, patch=[Enough()])
    assert await kept.run() == [("patch", "elasticjobs/status")]


async def test_a_status_that_was_overtaken_stops_everything_until_the_next_look() -> None:
    kept = Kept(stored(), *surplus(), patch=[Conflict(409, "changed"), Enough()])
    assert await kept.run() == [("patch", "elasticjobs/status")] * 2


async def test_a_pod_of_ours_that_exists_already_is_no_obstacle() -> None:
    owner = {"apiVersion": "elastic.pytorch.org/v1alpha1", "kind": "ElasticJob", "uid": "job-uid"}
    ours = {"metadata": {"ownerReferences": [{**owner, "controller": True}]}}
    kept = Kept(stored(), create=[Conflict(409, ""), Enough()], get=[ours])
    assert (await kept.run())[-3:] == [("create", "pods"), ("get", "pods"), ("create", "pods")]


async def test_a_pod_of_somebody_else_under_that_name_is_waited_for() -> None:
    theirs: Object = {"metadata": {}}
    kept = Kept(stored(), patch=[Enough()], create=[Conflict(409, "exists")], get=[theirs])
    asked = await kept.run()
    assert asked.count(("create", "pods")) == 1
    assert asked[-1] == ("patch", "elasticjobs/status")


async def test_a_pod_that_is_gone_already_is_removed_enough() -> None:
    deletions = [NotFound(404, ""), Enough()]
    kept = Kept(stored(), *surplus(), patch=[stored()], delete=deletions)
    await kept.run()
    assert kept.script.of("delete") == [
        ("pods", "digits-worker-4", "uid-4", None),
        ("pods", "digits-worker-3", "uid-3", None),
    ]


@pytest.mark.parametrize(("status", "told"), [(403, True), (422, True), (500, False), (429, False)])
async def test_a_refusal_of_a_pod_is_told_at_the_next_look_and_a_passing_fault_is_not(
    status: int, told: bool
) -> None:
    """A fault passes by itself; what refuses a pod for good, its owner must see."""
    refused = KubeError(status, 'pods "digits-worker-0" is forbidden: exceeded quota: gpus')
    written = stored({"state": "Pending"}, "2")
    kept = Kept(stored(), patch=[written, Enough()], create=[refused, *([MADE] * 3)])
    await kept.run()
    changes = [body["status"] for kind, body in kept.script.of("patch") if "status" in kind]
    reasons = [
        c["reason"] for each in changes for c in each["conditions"] if c["type"] == "Running"
    ]
    assert ("QuotaExceeded" in reasons) == told


@pytest.mark.acceptance(30)
async def test_a_job_that_others_manage_is_not_touched() -> None:
    kept = Kept(stored(managedBy="kueue.x-k8s.io/multikueue"))
    assert await kept.keeper._look() > 0
    assert kept.script.asked == []


async def test_an_event_that_cannot_be_stored_delays_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken = stored(minReplicas=9)
    kept = Kept(broken, patch=[broken], create=[KubeError(403, "forbidden")])
    with caplog.at_level(logging.WARNING):
        await kept.keeper._look()
    assert "event InvalidSpec is lost" in caplog.text


async def test_the_coordinator_hears_of_the_pod_that_joined_and_not_of_its_replacement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lost: list[str] = []
    member = SeenPod("jobs", "job-uid", "digits", pod(0))
    kept = Kept(stored())
    monkeypatch.setattr(kept.coordinator, "lose", lambda _key, name: lost.append(name))
    kept.doorkeeper._admitted[KEY, member.view.name] = "uid-0"
    keeper, this = kept.keeper, seen(stored())

    keeper._report_losses(this, (member.view,))
    assert lost == []
    keeper._report_losses(this, (replace(member.view, uid="uid-of-the-next"),))
    assert lost == [member.view.name]
    kept.doorkeeper._admitted[KEY, member.view.name] = "uid-of-the-third"
    keeper._report_losses(this, ())
    assert lost == [member.view.name]


@pytest.mark.acceptance(40)
def test_the_same_news_has_the_same_name_and_other_news_another() -> None:
    job = seen(stored())
    first = event_body(job, Event("Normal", "Disrupted", "a"), NOW)
    again = event_body(job, Event("Normal", "Disrupted", "a"), NOW)
    other = event_body(job, Event("Normal", "Disrupted", "b"), NOW)
    assert first["metadata"]["name"] == again["metadata"]["name"]
    assert first["metadata"]["name"] != other["metadata"]["name"]
    assert first["involvedObject"]["uid"] == "job-uid"


def made(index: int, version: int) -> Object:
    """A pod as the API server stores it."""
    owner = {
        "apiVersion": "elastic.pytorch.org/v1alpha1",
        "kind": "ElasticJob",
        "name": "digits",
        "uid": "job-uid",
        "controller": True,
    }
    metadata = {
        "name": f"digits-worker-{index}",
        "namespace": "jobs",
        "uid": f"uid-{index}",
        "resourceVersion": str(version),
        "creationTimestamp": "2026-08-11T10:00:00Z",
        "labels": {"replica-index": str(index), "job-name": "digits"},
        "ownerReferences": [owner],
    }
    return {"metadata": metadata, "spec": {"containers": [{"name": "x"}]}, "status": {}}


async def test_a_replacement_does_not_wait_for_the_word_that_one_is_missing() -> None:
    """The policy is there since the first look, and the status is written meanwhile."""
    news = [stored({"state": "Pending"}, "2"), stored({"state": "Pending"}, "3"), Enough()]
    kept = Kept(stored(), patch=news, create=[made(0, 5), made(1, 6), made(2, 7), made(0, 9)])
    await kept.keeper._look()
    kept.cluster.pods.take(made(0, 8), deleted=True)
    kept.script.asked.clear()
    await kept.keeper._look()
    assert [request[:2] for request in kept.script.asked] == [
        ("create", "pods"),
        ("patch", "elasticjobs/status"),
    ]


async def test_a_pod_that_was_just_made_is_not_made_again_before_the_watch_tells_of_it() -> None:
    written = [stored({"state": "Pending"}, str(n)) for n in range(2, 5)]
    kept = Kept(stored(), patch=written, create=[made(0, 5), made(1, 6), made(2, 7)])
    await kept.keeper._look()
    await kept.keeper._look()
    assert len(kept.script.of("create")) == 3


async def test_a_pod_that_the_watch_saw_go_is_not_entered_again() -> None:
    kept = Kept(stored())
    kept.cluster.pods._told = 9
    kept.cluster.pods.foresee(made(0, 8))
    assert kept.cluster.pods.items == {}
    kept.cluster.pods.foresee(made(0, 10))
    assert list(kept.cluster.pods.items) == [("jobs", "digits-worker-0")]
