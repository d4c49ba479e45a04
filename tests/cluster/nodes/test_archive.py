"""The archive as a pod beside the jobs: what it keeps outlives pods, nodes and its own death."""

import os
import signal
from collections.abc import AsyncIterator

import pytest

from spotrain import contract
from spotrain.kinds import JOBS, PODS, Object
from spotrain.ledger.entries import NodeEntry
from spotrain.local.kubelet import Kubelet, NodeSpec
from tests.archive.entries import job_object, stay, world
from tests.cluster.cluster import Namespace, remove
from tests.cluster.control_plane import ControlPlane
from tests.cluster.nodes.archive_pod import NAME, ArchivePod
from tests.cluster.nodes.pods import in_phase, pod, until_gone, until_pod

pytestmark = pytest.mark.cluster
COUNT = 400
POOL = {
    contract.LABEL_POOL: "t4-spot",
    contract.LABEL_ZONE: "us-east-1a",
    contract.LABEL_CAPACITY: contract.CAPACITY_SPOT,
}
SCRIPT = f"for i in $(seq {COUNT}); do echo $1 $i; [ $((i % 10)) = 0 ] && sleep 0.05; done; exit 0"


@pytest.fixture
async def archive(
    plane: ControlPlane, place: Namespace, kubelet: Kubelet, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[ArchivePod]:
    """It runs on a node of its own, with a researcher's kubeconfig for those who ask."""
    monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig))
    await kubelet.add(NodeSpec(name=f"{place.name}-managers"))
    made = ArchivePod(place, kubelet)
    await made.start()
    yield made
    log = kubelet.options.folder.glob(f"pods/*_{NAME}_*/logs/*/*.log")
    print("\n".join(file.read_text() for file in log))  # shown where a test fails


async def submit(place: Namespace) -> Object:
    """A job that no controller looks after: its status is this test's to tell."""
    await place.submit("digits", 2)
    return await tell(place, world(1, ended=False), stay(0, ended=False))


async def tell(place: Namespace, *entries: object, condition: str = "") -> Object:
    told = job_object(*entries, condition=condition)["status"]  # type: ignore[arg-type]
    return await place.kube.patch(
        JOBS, place.name, "digits", {"status": told}, subresource="status"
    )


async def begin_worker(place: Namespace, job: Object, index: int, node: str) -> Object:
    document = pod(f"digits-worker-{index}", SCRIPT, nodeSelector={"pool": node})
    document["spec"]["containers"][0]["command"] += ["sh", f"worker-{index}"]
    document["metadata"]["labels"] = {
        contract.LABEL_GROUP: contract.GROUP,
        contract.LABEL_JOB: "digits",
        contract.LABEL_REPLICA_INDEX: str(index),
    }
    document["metadata"]["ownerReferences"] = [
        {
            "apiVersion": contract.API_VERSION,
            "kind": contract.KIND,
            "name": "digits",
            "uid": job["metadata"]["uid"],
            "controller": True,
        }
    ]
    return await place.kube.create(PODS, place.name, document)


async def test_a_jobs_ledger_and_logs_outlive_its_pods_its_node_and_the_archives_death(
    place: Namespace, kubelet: Kubelet, archive: ArchivePod
) -> None:
    node = f"{place.name}-gpu"
    await kubelet.add(NodeSpec(name=node, labels={**POOL, "pool": node}))
    job = await submit(place)
    for index in range(2):
        await begin_worker(place, job, index, node)

    # In the middle of the output, again and again: the archive dies, and is started anew.
    for share in (0.1, 0.4):
        await archive.until(
            lambda client: list(client.logs("digits")),
            lambda lines, share=share: len(lines) > share * 2 * COUNT,  # type: ignore[misc]
        )
        (pid,) = kubelet.pids(place.name, NAME).values()
        os.kill(pid, signal.SIGKILL)
    for index in range(2):
        await until_pod(place.kube, place.name, f"digits-worker-{index}", in_phase("Succeeded"))
    await tell(place, world(1), world(2), stay(0), stay(1), condition="Succeeded")
    expected = [f"worker-{index} {number}" for index in range(2) for number in range(1, COUNT + 1)]
    lines = await archive.until(
        lambda client: list(client.logs("digits")), lambda lines: len(lines) >= len(expected)
    )
    assert sorted(line.line for line in lines) == sorted(expected)
    assert [line.at for line in lines] == sorted(line.at for line in lines)
    for index in range(2):
        own = [line.line for line in lines if line.worker == index]
        assert own == [f"worker-{index} {number}" for number in range(1, COUNT + 1)]

    for one in (await place.kube.list_all(PODS, place.name))[0]:
        if one["metadata"]["name"] != NAME:
            await place.delete_pod(one)
            await until_gone(place.kube, place.name, one["metadata"]["uid"])
    await kubelet.remove(node)
    await remove(place.kube, JOBS, place.name, "digits")

    record = await archive.until(
        lambda client: client.job("digits"), lambda found: found.deleted_at is not None
    )
    assert (record.outcome, record.uid) == ("succeeded", job["metadata"]["uid"])
    ledger = await archive.ask(lambda client: client.ledger("digits"))
    assert set(ledger.entries) == {world(1), world(2), stay(0), stay(1)}
    assert len(await archive.ask(lambda client: list(client.logs("digits")))) == len(expected)
    gone = await archive.until(
        lambda client: [one for one in client.nodes() if one.name == node],
        lambda found: bool(found and found[0].gone_at),
    )
    assert [(one.place.pool, one.place.zone, one.place.capacity) for one in gone] == [
        ("t4-spot", "us-east-1a", "spot")
    ]
    assert isinstance(gone[0], NodeEntry)


async def test_a_job_that_went_while_the_archive_was_away_is_closed(
    place: Namespace, kubelet: Kubelet, archive: ArchivePod
) -> None:
    await submit(place)
    await archive.until(
        lambda client: client.ledger("digits").entries, lambda entries: len(entries) == 2
    )
    document = await place.kube.get(PODS, place.name, NAME)
    await place.delete_pod(document)
    await until_gone(place.kube, place.name, document["metadata"]["uid"])
    await remove(place.kube, JOBS, place.name, "digits")
    await archive.create()

    ledger = await archive.until(
        lambda client: client.ledger("digits"), lambda found: found.job.deleted_at is not None
    )
    assert ledger.job.outcome == "deleted"
    gaps = {entry.of for entry in ledger.entries if entry.kind == "gap"}
    assert gaps == {"world", "stay"}
