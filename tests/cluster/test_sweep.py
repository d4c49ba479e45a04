"""A sweep from its first job to its table, with a researcher's rights, on a real API server."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from spotrain import contract, kinds
from spotrain.cli.cluster import Cluster, connected
from spotrain.cli.cluster_jobs import ClusterJobs
from spotrain.cli.sweep_results import changing_results
from tests.cluster.cluster import ControllerProcess, Namespace, remove, until
from tests.cluster.command_line import LIMIT_SECONDS, Person
from tests.cluster.researchers import admit_researchers, offer_pools
from tests.cluster.server import RESEARCHER_TOKEN

pytestmark = pytest.mark.cluster
GRID = ("sweep", "exp1", "lr=0.1,0.01", "batch=16,32", "--gpus", "1", "--gpu-type", "t4")
SCRIPT = ("--", "train.py", "--lr", "{lr}")


@pytest.fixture
async def person(namespace: Namespace, tmp_path: Path) -> AsyncIterator[Person]:
    await admit_researchers(namespace)
    await offer_pools(namespace.kube)
    kubeconfig = namespace.server.kubeconfig(f"researcher-{namespace.name}", RESEARCHER_TOKEN)
    yield Person(kubeconfig, namespace.name, tmp_path)
    await remove(
        namespace.kube, kinds.CONFIG_MAPS, contract.SYSTEM_NAMESPACE, contract.POOLS_CONFIGMAP
    )


async def jobs_of(namespace: Namespace) -> list[dict[str, Any]]:
    found, _ = await namespace.kube.list_all(kinds.JOBS, namespace.name)
    return sorted(found, key=lambda each: each["metadata"]["name"])


async def tell(namespace: Namespace, name: str, **status: Any) -> None:
    await namespace.kube.patch(
        kinds.JOBS, namespace.name, name, {"status": status}, subresource="status"
    )


async def test_a_sweep_is_sent_once_grows_and_is_shown_stopped_and_deleted_as_one(
    namespace: Namespace, person: Person
) -> None:
    sent = await person.types(*GRID, "--at-most", "2", *SCRIPT)
    assert (sent.code, sent.err) == (0, "")
    assert "sent 4 jobs of 4, at most 2 at once. Next: spotrain sweep exp1" in sent.out
    first = await jobs_of(namespace)
    assert len(first) == 4
    for job in first:
        assert job["metadata"]["labels"][contract.LABEL_SWEEP] == "exp1"
        assert job["spec"]["sweep"] == {"atMost": 2}
        values = json.loads(job["metadata"]["annotations"][contract.SWEEP_VALUES_ANNOTATION])
        (container,) = job["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["containers"]
        expected = ["train.py", "--lr", values["lr"], f"--batch={values['batch']}"]
        assert container["args"] == expected

    # Once more, with one value more and another limit: what is there stays what it is.
    more = await person.types(*GRID[:3], "batch=16,32,64", *GRID[4:], "--at-most", "3", *SCRIPT)
    assert more.code == 0, more.err
    assert "sent 2 jobs of 6, 4 were there already, at most 3 at once" in more.out
    now = await jobs_of(namespace)
    kept = {job["metadata"]["uid"] for job in first}
    assert len(kept & {job["metadata"]["uid"] for job in now}) == 4
    assert {job["spec"]["sweep"]["atMost"] for job in now} == {3}

    # The same values with another template are another job, and nothing of it is sent.
    other = await person.types(*GRID[:3], "batch=16,128", *GRID[4:], "--budget", "5", *SCRIPT)
    assert other.code == 5
    assert "spec.budget.maxDollars is None there and 5.0 here" in other.err
    assert len(await jobs_of(namespace)) == 6

    names = [job["metadata"]["name"] for job in now]
    for number, name in enumerate(names[:2]):
        progress = {"step": 7, "at": "2026-01-01T00:00:00Z", "metrics": {"loss": 0.5 - number / 4}}
        await tell(namespace, name, state="Running", progress=progress)
    table = await person.types("sweep", "exp1", "--sort", "loss")
    assert table.code == 0, table.err
    assert max(map(len, table.out.splitlines())) <= 80
    sorted_names = (await person.types("sweep", "exp1", "--sort", "loss", "-o", "name")).out.split()
    assert sorted_names[:2] == [names[1], names[0]]
    assert sorted(sorted_names) == names
    documents = (await person.types("sweep", "exp1", "-o", "json")).document
    assert isinstance(documents, list)
    by_name = {each["name"]: each for each in documents}
    assert by_name[names[0]]["metrics"] == {"loss": 0.5}
    assert set(by_name[names[0]]["values"]) == {"lr", "batch"}
    unknown = await person.types("sweep", "exp1", "--sort", "accuracy")
    assert (unknown.code, "there are loss" in unknown.err) == (2, True)
    near = await person.types("sweep", "exp2")
    assert (near.code, "There are exp1." in near.err) == (4, True)

    bystander = await namespace.submit("bystander", 1)
    assert "stopping 6 jobs" in (await person.types("sweep", "exp1", "--stop")).out
    assert all(job["spec"]["suspend"] for job in await jobs_of(namespace) if "exp1" in str(job))
    assert "resuming 6 jobs" in (await person.types("sweep", "exp1", "--resume")).out
    assert not any(job["spec"]["suspend"] for job in await jobs_of(namespace))
    assert "deleted 6 jobs" in (await person.types("sweep", "exp1", "--delete")).out
    left = await jobs_of(namespace)
    assert [job["metadata"]["uid"] for job in left] == [bystander["metadata"]["uid"]]


async def test_a_file_is_a_template_whose_jobs_keep_their_results_apart(
    namespace: Namespace, person: Person
) -> None:
    template = yaml.safe_load(Path("k8s/examples/digits.yaml").read_text())
    (person.folder / "digits.yaml").write_text(yaml.safe_dump(template))
    sent = await person.types("sweep", "digits.yaml", "batch-size=16,32")
    assert (sent.code, sent.err) == (0, "")
    found = await jobs_of(namespace)
    assert len(found) == 2
    for job in found:
        name = job["metadata"]["name"]
        (container,) = job["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["containers"]
        assert f"/mnt/efs/output/{name}" in container["args"]
        assert "/mnt/efs/output/digits" not in container["args"]
        assert container["args"][-1] in ("--batch-size=16", "--batch-size=32")


async def test_the_controller_lets_so_many_at_once_though_nobody_watches(
    namespace: Namespace, person: Person, controller: ControllerProcess
) -> None:
    await controller.start()
    sent = await person.types(*GRID, "--at-most", "1", *SCRIPT)
    assert sent.code == 0, sent.err

    def waiting(jobs: list[kinds.Object]) -> list[str]:
        return [
            job["metadata"]["name"]
            for job in jobs
            for condition in (job.get("status") or {}).get("conditions") or []
            if condition["reason"] == "SweepLimit"
        ]

    jobs = await until(
        namespace.kube, kinds.JOBS, namespace.name, lambda found: len(waiting(found)) == 3
    )
    names = {job["metadata"]["name"] for job in jobs}
    seen: set[str] = set()
    while names - seen:
        (pod,) = await until(
            namespace.kube,
            kinds.PODS,
            namespace.name,
            lambda pods: bool(pods) and {owner(pod) for pod in pods} - seen != set(),
        )
        seen.add(owner(pod))
        explained = await person.types("explain", min(names - seen or names))
        assert names == seen or "Its sweep's other jobs go first" in explained.out
        await remove(namespace.kube, kinds.JOBS, namespace.name, owner(pod))
        # There is no garbage collector beside this API server.
        await namespace.kube.delete(
            kinds.PODS, namespace.name, pod["metadata"]["name"], uid=pod["metadata"]["uid"]
        )
    assert seen == names


async def test_a_followed_sweep_ends_with_its_last_job_and_fails_with_one(
    namespace: Namespace, person: Person
) -> None:
    process = await person.starts(*GRID, "--follow", *SCRIPT)
    assert process.stdout
    async with asyncio.timeout(LIMIT_SECONDS):
        while b"exp1: 4 jobs, 4 Pending" not in await process.stdout.readline():
            pass
        for number, job in enumerate(await jobs_of(namespace)):
            end = "Succeeded" if number else "Failed"
            conditions = [{"type": end, "status": "True", "reason": "Over"}]
            await tell(namespace, job["metadata"]["name"], state=end, conditions=conditions)
        out, err = await process.communicate()
    assert process.returncode == 1
    assert b"exp1: 3 of 4 jobs succeeded" in err
    assert b"4 jobs" in out


async def test_a_watched_sweep_tells_every_change_of_its_own_jobs_and_of_no_other(
    namespace: Namespace, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And asks for nothing meanwhile: the server tells."""
    assert (await person.types(*GRID, *SCRIPT)).code == 0
    await namespace.submit("digits", 1)
    monkeypatch.setenv("KUBECONFIG", str(person.kubeconfig))
    with connected(None, namespace.name) as cluster:
        changes = changing_results(ClusterJobs(cluster).watch_sweep("exp1"))
        first = await asyncio.to_thread(next, changes)
        names = [each.seen.name for each in first]
        assert len(names) == 4
        with monkeypatch.context() as patched:
            patched.delattr(Cluster, "pages")  # by which it would list them again
            await tell(namespace, "digits", state="Running")
            await tell(namespace, names[2], state="Running")
            second = await asyncio.to_thread(next, changes)
            assert [each.seen.state for each in second] == [
                "Running" if name == names[2] else "Pending" for name in names
            ]
            assert all(now is before for now, before in zip(second[:2], first[:2], strict=True))
            await remove(namespace.kube, kinds.JOBS, namespace.name, names[0])
            third = await asyncio.to_thread(next, changes)
            assert [each.seen.name for each in third] == names[1:]


def owner(pod: kinds.Object) -> str:
    return str(pod["metadata"]["labels"][contract.LABEL_JOB])
