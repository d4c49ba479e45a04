"""What happens while nobody can reach the API server, and after it."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from spotrain.kinds import Object
from tests.cluster.conftest import controller_for, made_namespace
from tests.cluster.server import etcd_for_api_server

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
