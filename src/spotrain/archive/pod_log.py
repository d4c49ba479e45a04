"""A container's log from the API server, which has it from the node's kubelet."""

from collections.abc import AsyncGenerator
from typing import Final

import httpx2

from spotrain.archive.sources import Source
from spotrain.controller.kube import REQUEST_SECONDS, KubeError, NotFound
from spotrain.kinds import PODS

SILENT_SECONDS: Final = 600.0
"""A connection that has told nothing for so long may be dead; the log is then asked for anew."""


async def stream_log(
    http: httpx2.AsyncClient,
    namespace: str,
    source: Source,
    *,
    since: str,
    previous: bool = False,
) -> AsyncGenerator[bytes, None]:
    """Pieces of it, each line with its time before it, from the second `since` on; empty: all.

    Goes on until the container has ended. Raises KubeError, or one of LOST.
    """
    asked = {"container": source.container, "timestamps": "true"}
    asked |= {"previous": "true"} if previous else {"follow": "true"}
    if since:
        asked["sinceTime"] = since
    path = PODS.path(namespace, source.pod, "log")
    patience = httpx2.Timeout(REQUEST_SECONDS, read=SILENT_SECONDS)
    async with http.stream("GET", path, params=asked, timeout=patience) as response:
        if response.is_error:
            text = (await response.aread()).decode(errors="replace")[:200]
            kind = NotFound if response.status_code == 404 else KubeError
            raise kind(response.status_code, text)
        async for piece in response.aiter_bytes():
            yield piece
