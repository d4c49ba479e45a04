"""A client that creates given objects and decides nothing: `python -m bench.controller.clients`.

It reads one order from standard input, creates every object at the order's concurrency, and says
how many seconds that took, without its own start and its first connection.
"""

import asyncio
import json
import ssl
import sys
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import Any

Body = dict[str, Any]
Create = Callable[[Body], Awaitable[None]]


def path_of(body: Body) -> str:
    """Where its collection is; pods and network policies are all that is created here."""
    namespace = body["metadata"]["namespace"]
    if body["kind"] == "Pod":
        return f"/api/v1/namespaces/{namespace}/pods"
    return f"/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies"


async def create_all(create: Create, bodies: Sequence[Body], concurrency: int) -> float:
    """Seconds for all of them."""
    left = iter(bodies)

    async def work() -> None:
        for body in left:
            await create(body)

    start = perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(work())
    return perf_counter() - start


async def with_lightkube(order: Body) -> float:
    """Typed models, as its documentation shows."""
    from lightkube import AsyncClient, KubeConfig
    from lightkube.resources.core_v1 import Pod
    from lightkube.resources.networking_v1 import NetworkPolicy

    client = AsyncClient(KubeConfig.from_file(order["kubeconfig"]))

    async def create(body: Body) -> None:
        kind: Any = Pod if body["kind"] == "Pod" else NetworkPolicy
        await client.create(kind.from_dict(body))

    await anext(aiter(client.list(Pod, namespace=order["namespace"])), None)
    return await create_all(create, order["bodies"], order["concurrency"])


async def with_httpx2(order: Body) -> float:
    """lightkube's transport with plain JSON, as the controller uses it."""
    import httpx2

    tls = ssl.create_default_context(cafile=order["authority"])
    headers = {"Authorization": f"Bearer {order['token']}"}
    async with httpx2.AsyncClient(base_url=order["url"], headers=headers, verify=tls) as http:

        async def create(body: Body) -> None:
            (await http.post(path_of(body), json=body)).raise_for_status()

        await http.get("/version")
        return await create_all(create, order["bodies"], order["concurrency"])


async def with_aiohttp(order: Body) -> float:
    import aiohttp  # type: ignore[import-not-found,unused-ignore]

    tls = ssl.create_default_context(cafile=order["authority"])
    headers = {"Authorization": f"Bearer {order['token']}"}
    connector = aiohttp.TCPConnector(ssl=tls, limit=order["concurrency"])
    async with aiohttp.ClientSession(order["url"], headers=headers, connector=connector) as http:

        async def create(body: Body) -> None:
            async with http.post(path_of(body), json=body) as answer:
                answer.raise_for_status()
                await answer.read()

        async with http.get("/version") as answer:
            await answer.read()
        return await create_all(create, order["bodies"], order["concurrency"])


CLIENTS = {"lightkube": with_lightkube, "httpx2": with_httpx2, "aiohttp": with_aiohttp}


def main() -> None:
    order = json.load(sys.stdin)
    print(asyncio.run(CLIENTS[order["client"]](order)))


if __name__ == "__main__":
    main()
