"""`spotrain cost` and `report` as a person types them: from the archive, through its forwarded
port, and where none runs, from the status."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from spotrain import contract, kinds
from spotrain.kinds import JOBS, PODS
from spotrain.ledger.entries import Members, Place
from spotrain.local.kubelet import Kubelet, NodeSpec
from tests.archive.entries import job_object, stay, world
from tests.cluster.cluster import Namespace, remove
from tests.cluster.command_line import Person
from tests.cluster.control_plane import ControlPlane
from tests.cluster.nodes.archive_pod import NAME, ArchivePod
from tests.cluster.nodes.pods import until_gone
from tests.cluster.researchers import offer_pools

pytestmark = pytest.mark.cluster
PLACE = Place(pool="t4-spot", zone="a", capacity=contract.CAPACITY_SPOT, instance_type="some.type")


SECONDS = {"boot": 0.1, "held": 0.8}
USEFUL_SECONDS = 0.4


TERMS = "idleMinutes: 1\nstorage: {readUsdPerGb: 0.03, writtenUsdPerGb: 0.06}\n"
MOVED_USD = 10 * 0.03 + 1 * 0.06


async def told_a_loss(place: Namespace) -> datetime:
    """A job that trains and has told of its loss; when it was made."""
    job = await place.submit("digits", 2)
    created = datetime.fromisoformat(job["metadata"]["creationTimestamp"])
    at = (created + timedelta(seconds=0.4)).isoformat()
    progress = {"step": 50, "at": at, "metrics": {"loss": 2.5}}
    await place.kube.patch(
        JOBS, place.name, "digits", {"status": {"progress": progress}}, subresource="status"
    )
    return created


async def trained(place: Namespace, created: datetime) -> None:
    """Its whole life is over within its first second, which is past when it is asked of."""

    def at(seconds: float) -> datetime:
        return created + timedelta(seconds=seconds)

    held = stay(
        0,
        created_at=at(0),
        scheduled_at=at(0.1),
        started_at=at(0.2),
        ended_at=at(0.9),
        node="n1",
        node_gpus=1,
        node_created_at=at(0),
        place=PLACE,
        read_bytes=10**10,
        written_bytes=10**9,
    )
    one = world(
        1,
        size=1,
        members=(Members(place=PLACE, workers=1),),
        published_at=at(0.2),
        first_step_at=at(0.3),
        last_step_at=at(0.7),
        ended_at=at(0.7),
        last_step=100,
        committed_step=100,
        reason="finished",
    )
    told = job_object(one, held, condition="Succeeded")["status"]
    told["conditions"][0]["lastTransitionTime"] = told["completionTime"] = at(1).isoformat()
    told["ledger"]["since"] = created.isoformat()
    told["progress"] = {"step": 100, "at": at(0.7).isoformat(), "metrics": {"loss": 0.125}}
    await place.kube.patch(JOBS, place.name, "digits", {"status": told}, subresource="status")


async def test_a_person_learns_what_a_job_cost_with_and_without_an_archive(
    plane: ControlPlane,
    place: Namespace,
    kubelet: Kubelet,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await offer_pools(place.kube)
    terms = {"data": {contract.TERMS_KEY: TERMS}}
    await place.kube.patch(
        kinds.CONFIG_MAPS, contract.SYSTEM_NAMESPACE, contract.POOLS_CONFIGMAP, terms
    )
    person = Person(plane.kubeconfig, place.name, tmp_path)
    created = await told_a_loss(place)
    words = ("cost", "digits", "--no-history")
    try:
        monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig))
        await kubelet.add(NodeSpec(name=f"{place.name}-managers"))
        archive = ArchivePod(place, kubelet)
        await archive.start()
        await archive.until(
            lambda client: client.ledger("digits").entries, lambda entries: len(entries) == 1
        )
        await trained(place, created)
        await archive.until(
            lambda client: client.ledger("digits").entries, lambda entries: len(entries) == 4
        )
        from_archive = await person.types(*words, "-o", "json")
        assert "status" not in from_archive.err
        reported = await person.types("report", "digits", "--no-history", "-o", "-")
        assert (reported.code, "status" in reported.err) == (0, False)
        for words_of_it in ("10 GB read, 1 GB written: $0.3600", ">loss<", "typical spot"):
            assert words_of_it in reported.out, words_of_it
        missing = await person.types("cost", "gone", "--no-history")
        assert (missing.code, missing.out) == (4, "")
        assert missing.err.count("\n") == 1

        pod = await place.kube.get(PODS, place.name, NAME)
        await place.delete_pod(pod)
        await until_gone(place.kube, place.name, pod["metadata"]["uid"])
        from_status = await person.types(*words, "-o", "json")
        assert "there is no pod of it" in from_status.err
        assert "This is what the jobs' own status tells" in from_status.err
        for answer in (from_archive, from_status):
            told = json.loads(answer.out)
            seconds = {line["use"]: 3600 * line["nodeHours"] for line in told["lines"]}
            assert seconds == pytest.approx(SECONDS)
            assert told["nodeUsd"] == pytest.approx(0.2 * sum(SECONDS.values()) / 3600)
            assert told["traffic"]["usd"] == pytest.approx(MOVED_USD)
            assert told["usd"] == pytest.approx(told["nodeUsd"] + MOVED_USD)
            useful = USEFUL_SECONDS / SECONDS["held"]
            on_demand = 0.5 * USEFUL_SECONDS / 3600 + useful * MOVED_USD
            assert told["onDemandUsd"] == pytest.approx(on_demand)
        table = await person.types(*words)
        assert "typical spot" in table.out
        everything = await person.types("cost", "--days", "3650", "--no-history", "-o", "name")
        assert everything.out.split() == ["digits"]
    finally:
        await remove(
            place.kube, kinds.CONFIG_MAPS, contract.SYSTEM_NAMESPACE, contract.POOLS_CONFIGMAP
        )
