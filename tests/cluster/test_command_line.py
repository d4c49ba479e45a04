"""The researcher's verbs against a real API server."""

from dataclasses import replace
from pathlib import Path

import pytest

from spotrain import kinds
from tests.cluster.cluster import Namespace
from tests.cluster.command_line import Person
from tests.cluster.server import ADMIN_TOKEN, ApiServer

pytestmark = pytest.mark.cluster


@pytest.fixture
def person(namespace: Namespace, tmp_path: Path) -> Person:
    kubeconfig = namespace.server.kubeconfig(namespace.name, ADMIN_TOKEN)
    return Person(kubeconfig, namespace.name, tmp_path)


async def test_list_shows_every_job_to_people_and_to_programs(
    namespace: Namespace, person: Person
) -> None:
    empty = await person.types("list")
    assert (empty.code, empty.out) == (0, "")
    assert "spotrain submit" in empty.err
    for name in ("digits", "words"):
        await namespace.submit(name, 2)
    status = {"state": "Running", "progress": {"step": 1234, "at": "2026-01-01T00:00:00Z"}}
    await namespace.kube.patch(
        kinds.JOBS, namespace.name, "words", {"status": status}, subresource="status"
    )
    table = await person.types("list")
    assert "1,234" in table.out
    assert max(map(len, table.out.splitlines())) <= 80
    assert (await person.types("list", "-o", "name")).out.split() == ["digits", "words"]
    listed = (await person.types("list", "-o", "json")).document
    assert isinstance(listed, list)
    assert [job["step"] for job in listed] == [None, 1234]


async def test_who_may_not_is_told_whom_to_ask(server: ApiServer, person: Person) -> None:
    stranger = replace(person, kubeconfig=server.kubeconfig("stranger", "nobody-knows-this"))
    refused = await stranger.types("list")
    assert refused.code == 3
    assert "Log in again" in refused.err
