"""`spotrain list` against a real API server, which picks what it shows."""

import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from spotrain import kinds
from spotrain.cli.cluster import connected
from spotrain.cli.cluster_rows import list_rows
from spotrain.cli.job_rows import JobRow, row_of_document
from tests.cluster.cluster import Namespace, remove
from tests.cluster.command_line import LIMIT_SECONDS, Person
from tests.cluster.researchers import admit_researchers
from tests.cluster.server import RESEARCHER_TOKEN

pytestmark = pytest.mark.cluster


@pytest.fixture
async def person(namespace: Namespace, tmp_path: Path) -> Person:
    """Nobody acts on the jobs of the namespace: there is no controller."""
    await admit_researchers(namespace)
    kubeconfig = namespace.server.kubeconfig(namespace.name, RESEARCHER_TOKEN)
    return Person(kubeconfig, namespace.name, tmp_path)


async def tell(namespace: Namespace, name: str, **status: object) -> None:
    """As the controller would."""
    await namespace.kube.patch(
        kinds.JOBS, namespace.name, name, {"status": status}, subresource="status"
    )


async def test_a_line_that_the_server_picks_is_the_one_that_a_document_gives(
    namespace: Namespace, person: Person
) -> None:
    await namespace.submit("bare", 1)
    await namespace.submit("stopping", 4, minReplicas=2, maxReplicas=8, suspend=True)
    await tell(namespace, "stopping", state="Running", replicaStatuses={"Worker": {"ready": 3}})
    await namespace.submit("full", 2, placement={"gpu": "t4"})
    now = "2026-01-01T00:00:00Z"
    world = {"number": 3, "size": 2, "since": now, "step": 1, "stepsPerSecond": 4.125}
    ledger = {"since": now, "totals": {"until": now, "estimatedUsd": 1.25}}
    progress = {"step": 1234, "at": now, "stepsLeft": 330}
    await tell(namespace, "full", state="Running", world=world, ledger=ledger, progress=progress)
    documents, _ = await namespace.kube.list_all(kinds.JOBS, namespace.name)
    picked = await asyncio.to_thread(rows_of, person)
    assert sorted(picked, key=str) == sorted(map(row_of_document, documents), key=str)
    full = next(row for row in picked if row.name == "full")
    assert (full.steps_per_second, full.usd, full.gpu, full.step) == (4.125, 1.25, "t4", 1234)
    assert full.seconds_left == 80


def rows_of(person: Person) -> Sequence[JobRow]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBECONFIG", str(person.kubeconfig))
        with connected(None, person.namespace) as cluster:
            return list_rows(cluster)


async def test_a_list_waits_for_no_model_of_what_it_does_not_show(
    namespace: Namespace, person: Person
) -> None:
    """Each of these takes longer to import, or to be built, than the server takes to answer."""
    await namespace.submit("digits", 2)
    for form in ("table", "name"):
        script = "import sys; from spotrain.cli.main import main\ntry: main(sys.argv[1:])\n"
        script += "finally: print(*sorted(sys.modules), file=sys.stderr)"
        words = (sys.executable, "-c", script, "list", "-o", form)
        process = await asyncio.create_subprocess_exec(
            *words,
            env=person.environment(),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, modules = await process.communicate()
        assert b"digits" in out
        heavy = {"spotrain.controller.status", "spotrain.job", "boto3", "jinja2", "torch"}
        assert heavy & set(modules.decode().split()) == set()


async def test_a_watched_list_tells_every_change(namespace: Namespace, person: Person) -> None:
    await namespace.submit("digits", 2)
    watching = await person.starts("list", "--watch")
    assert watching.stdout
    async with asyncio.timeout(LIMIT_SECONDS):
        assert await watching.stdout.readline() == b"digits: Pending, 0/2 workers\n"
        await namespace.submit("words", 1)
        assert await watching.stdout.readline() == b"words: Pending, 0/1 worker\n"
        await tell(namespace, "digits", state="Running", replicaStatuses={"Worker": {"ready": 2}})
        assert await watching.stdout.readline() == b"digits: Running, 2/2 workers\n"
        await remove(namespace.kube, kinds.JOBS, namespace.name, "words")
        assert await watching.stdout.readline() == b"words: deleted\n"
        watching.send_signal(signal.SIGINT)
        out, err = await watching.communicate()
    assert (watching.returncode, out, err) == (130, b"", b"")
