"""What happens while nobody can reach the API server, and after it."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from spotrain import kinds
from spotrain.kinds import Object
from tests.cluster.command_line import LIMIT_SECONDS, Person
from tests.cluster.conftest import controller_for, made_namespace
from tests.cluster.researchers import admit_researchers, offer_pools
from tests.cluster.server import RESEARCHER_TOKEN, etcd_for_api_server

pytestmark = pytest.mark.cluster


async def test_the_controller_outlives_an_outage_of_the_api_server(
    binaries: Path, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        server = stack.enter_context(etcd_for_api_server(binaries, tmp_path))
        with server.running():
            http = await stack.enter_async_context(server.client())
            namespace = await made_namespace(server, server.kube(http))
            controller = await stack.enter_async_context(controller_for(namespace, outage=True))
            await namespace.submit("digits", 2)
            await controller.start()
            lost, kept = await namespace.until_pods(lambda found: len(found) == 2)
            await controller.until_serving()

        def is_replaced(found: list[Object]) -> bool:
            uids = {pod["metadata"]["uid"] for pod in found}
            return len(found) == 2 and lost["metadata"]["uid"] not in uids

        with server.running():
            await namespace.delete_pod(lost)
            replaced = await namespace.until_pods(is_replaced)
            assert kept["metadata"]["uid"] in {pod["metadata"]["uid"] for pod in replaced}
        assert controller.process is not None
        assert controller.process.returncode is None


async def test_whoever_watches_or_follows_a_job_waits_for_the_api_server_and_sees_its_end(
    binaries: Path, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        server = stack.enter_context(etcd_for_api_server(binaries, tmp_path))
        with server.running():
            http = await stack.enter_async_context(server.client())
            namespace = await made_namespace(server, server.kube(http))
            await admit_researchers(namespace)
            await offer_pools(namespace.kube)
            kubeconfig = server.kubeconfig(namespace.name, RESEARCHER_TOKEN)
            person = Person(kubeconfig, namespace.name, tmp_path)
            words = ("submit", "exp1", "--gpus", "1", "--gpu-type", "t4", "--follow", "--", "a.py")
            following = await person.starts(*words)
            assert following.stderr
            async with asyncio.timeout(LIMIT_SECONDS):
                while b"Pending" not in await following.stderr.readline():
                    pass
                watching = await person.starts("status", "exp1", "--watch")
                assert watching.stdout
                assert watching.stderr
                assert b"Pending" in await watching.stdout.readline()
        async with asyncio.timeout(LIMIT_SECONDS):
            while b"waiting for it" not in await following.stderr.readline():
                pass
            assert b"waiting for it" in await watching.stderr.readline()
        with server.running():
            condition = {"type": "Succeeded", "status": "True", "reason": "Over"}
            told = {"status": {"state": "Succeeded", "conditions": [condition]}}
            await namespace.kube.patch(
                kinds.JOBS, namespace.name, "exp1", told, subresource="status"
            )
            async with asyncio.timeout(LIMIT_SECONDS):
                for process in (following, watching):
                    out, err = await process.communicate()
                    assert process.returncode == 0, err.decode()
                    assert b"exp1: Succeeded" in out + err
