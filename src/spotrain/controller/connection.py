"""Finding the API server: lightkube reads the kubeconfig and renews the credentials."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from lightkube import KubeConfig
from lightkube.config import client_adapter

from spotrain.controller.kube import REQUEST_SECONDS, Asked, Kube


@asynccontextmanager
async def connected(asked: Asked = lambda _method, _code: None) -> AsyncIterator[Kube]:
    """The cluster around this pod; outside of one, that of KUBECONFIG."""
    parameters = client_adapter.ConnectionParams(timeout=httpx2.Timeout(REQUEST_SECONDS))
    config = KubeConfig.from_env().get()
    if config is None:
        raise RuntimeError("the kubeconfig names no current context; set one, or KUBECONFIG.")
    async with client_adapter.AsyncClient(config, parameters) as http:
        yield Kube(http, asked)
