"""Logs and checkpoints as a researcher asks for them, through the port of the archive's pod."""

import asyncio
import contextlib
import signal
from pathlib import Path

import pytest

from spotrain import contract
from spotrain.kinds import CONFIG_MAPS, JOBS
from spotrain.local.kubelet import Kubelet, NodeSpec
from tests.archive.entries import stay, world
from tests.archive.test_checkpoints import publish
from tests.cli.curves import address_in, curves, write_curve
from tests.cluster.cluster import Namespace, remove
from tests.cluster.command_line import LIMIT_SECONDS, Person
from tests.cluster.nodes.archive_pod import ArchivePod
from tests.cluster.nodes.pods import in_phase, until_gone, until_pod
from tests.cluster.nodes.test_archive import COUNT, POOL, archive, begin_worker, submit, tell
from tests.cluster.researchers import admit_researchers, offer_pools
from tests.cluster.server import RESEARCHER_TOKEN

pytestmark = pytest.mark.cluster
__all__ = ["archive"]


@pytest.fixture
async def person(place: Namespace, tmp_path: Path) -> Person:
    await admit_researchers(place)
    kubeconfig = place.server.kubeconfig(f"researcher-{place.name}", RESEARCHER_TOKEN)
    return Person(kubeconfig, place.name, tmp_path)


@pytest.mark.usefixtures("archive")
async def test_logs_are_followed_from_submit_on_and_stay_when_pod_and_job_are_gone(
    place: Namespace, kubelet: Kubelet, person: Person
) -> None:
    node = f"{place.name}-gpu"
    await kubelet.add(NodeSpec(name=node, labels={**POOL, "pool": node}))
    unknown = await person.types("logs", "digits")
    assert unknown.code == 4
    job = await submit(place)
    following = await person.starts("logs", "digits", "--follow")
    made = await begin_worker(place, job, 0, node)
    await until_pod(place.kube, place.name, "digits-worker-0", in_phase("Succeeded"))
    await tell(place, world(1), stay(0), condition="Succeeded")
    async with asyncio.timeout(LIMIT_SECONDS):
        out, err = await following.communicate()
    expected = [f"worker-0 {number}" for number in range(1, COUNT + 1)]
    assert (following.returncode, err) == (0, b"")
    assert out.decode().splitlines() == [f"[0] {line}" for line in expected]

    await place.delete_pod(made)
    await until_gone(place.kube, place.name, made["metadata"]["uid"])
    assert (await person.types("delete", "digits")).code == 0
    kept = await person.types("logs", "digits", "--worker", "0")
    assert kept.out.splitlines() == expected
    no_worker = await person.types("logs", "digits", "--worker", "1")
    assert (no_worker.code, "had no worker 1" in no_worker.err) == (4, True)
    no_world = await person.types("logs", "digits", "--world", "9")
    assert no_world.code == 4
    assert "had no world 9" in no_world.err


async def test_without_an_archive_the_pods_themselves_are_asked_and_that_is_said(
    place: Namespace, kubelet: Kubelet, person: Person
) -> None:
    node = f"{place.name}-gpu"
    await kubelet.add(NodeSpec(name=node, labels={**POOL, "pool": node}))
    job = await submit(place)
    following = await person.starts("logs", "digits", "--follow")
    await begin_worker(place, job, 0, node)
    await until_pod(place.kube, place.name, "digits-worker-0", in_phase("Succeeded"))
    await tell(place, world(1), stay(0), condition="Succeeded")
    async with asyncio.timeout(LIMIT_SECONDS):
        out, err = await following.communicate()
    expected = [f"[0] worker-0 {number}" for number in range(1, COUNT + 1)]
    assert out.decode().splitlines() == expected
    assert following.returncode == 0
    assert err.decode().count("the archive of") == 1
    assert "the pods have printed that are still there" in err.decode()
    again = await person.types("logs", "digits", "--worker", "0")
    assert again.out.splitlines() == [line.removeprefix("[0] ") for line in expected]
    assert (await person.types("logs", "digit")).code == 4


async def test_checkpoints_are_listed_verified_and_pruned(
    place: Namespace, kubelet: Kubelet, archive: ArchivePod, person: Person
) -> None:
    await place.submit("digits", 1)
    output = kubelet.options.folder / "shared" / contract.OUTPUT_DIR / "digits"
    nothing = await person.types("checkpoints", "digits")
    assert (nothing.code, nothing.out) == (0, "")
    assert "digits has no checkpoint in /mnt/efs/output/digits/checkpoints" in nothing.err
    assert (await person.types("checkpoints", "digits", "--folder", "digit")).code == 4
    files = [publish(output / "checkpoints", step) for step in (10, 20, 30)]
    listed = (await person.types("checkpoints", "digits", "-o", "json")).document
    assert isinstance(listed, list)
    assert [each["step"] for each in listed] == [30, 20, 10]
    assert (await person.types("checkpoints", "digits", "--verify")).code == 0
    files[1].write_bytes(b"changed")
    damaged = await person.types("checkpoints", "digits", "--verify")
    assert damaged.code == 1
    assert "no: " in damaged.out
    pruned = await person.types("checkpoints", "digits", "--prune", "--keep", "1", "-o", "name")
    assert pruned.out.split() == ["w000001-s00000030"]
    with contextlib.suppress(FileNotFoundError):
        assert list(files[0].parent.iterdir()) == []


async def test_a_board_shows_what_jobs_write_through_the_forwarded_port(
    place: Namespace, kubelet: Kubelet, archive: ArchivePod, person: Person
) -> None:
    await submit(place)
    await archive.until(lambda client: client.jobs(), bool)
    output = kubelet.options.folder / "shared" / contract.OUTPUT_DIR / "digits"
    write_curve(output, "loss", {1: 0.5})
    board = await person.starts("board", "digits")
    assert board.stdout
    async with asyncio.timeout(LIMIT_SECONDS):
        line = (await board.stdout.readline()).decode()
        assert "shows digits (1 event file) until Ctrl-C" in line
        while "digits" not in (found := await asyncio.to_thread(curves, address_in(line))):
            await asyncio.sleep(0.2)
        assert list(found["digits"]) == ["loss"]
        board.send_signal(signal.SIGINT)
        _, err = await board.communicate()
    assert board.returncode == 130
    assert b"the board is closed" in err
    unknown = await person.types("board", "digit")
    assert unknown.code == 4
    assert "Did you mean digits?" in unknown.err


@pytest.mark.usefixtures("archive")
async def test_code_is_sent_once_and_the_job_runs_in_it(
    place: Namespace, kubelet: Kubelet, person: Person
) -> None:
    await offer_pools(place.kube)
    project = person.folder / "project"
    project.mkdir()
    (project / "train.py").write_text("print('here')")
    words = ("--gpus", "1", "--gpu-type", "t4", "--code", "project", "--", "train.py")
    first = await person.types("submit", "first", *words)
    assert first.code == 0, first.err
    assert "sending" in first.err
    second = await person.types("submit", "second", *words)
    assert (second.code, second.err) == (0, "")
    for name in ("first", "second"):
        job = await place.kube.get(JOBS, place.name, name)
        (container,) = job["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["containers"]
        workdir = container["workingDir"].removeprefix(contract.VOLUME_MOUNT)
        sent = kubelet.options.folder / "shared" / workdir.lstrip("/") / "train.py"
        assert sent.read_text() == "print('here')"

    with (project / "large.bin").open("wb") as file:
        file.truncate(2 * 1000**3)
    refused = await person.types("submit", "third", *words)
    assert refused.code == 2
    assert "large.bin" in refused.err
    assert (await person.types("list", "-o", "name")).out.split() == ["first", "second"]
    await remove(place.kube, CONFIG_MAPS, contract.SYSTEM_NAMESPACE, contract.POOLS_CONFIGMAP)
