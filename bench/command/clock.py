"""How long a process, or a request, takes."""

import http.client
import os
import ssl
import subprocess
from collections.abc import Mapping, Sequence
from time import perf_counter
from urllib.parse import urlsplit

from tests.cluster.server import ADMIN_TOKEN, ApiServer

LONGEST_SECONDS = 120.0


def run(words: Sequence[str], environment: Mapping[str, str]) -> dict[str, float]:
    """Seconds from its start to its end, and of a processor's time. Raises where it fails."""
    nowhere = subprocess.DEVNULL
    start = perf_counter()
    process = subprocess.Popen(
        words, env=environment, stdin=nowhere, stdout=nowhere, stderr=nowhere
    )
    _, status, used = os.wait4(process.pid, 0)
    seconds = perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)} ended with code {process.returncode}")
    return {"seconds": seconds, "cpu": used.ru_utime + used.ru_stime}


def ask(server: ApiServer, path: str, accept: str) -> dict[str, float]:
    """Seconds from a request on an open connection to the last byte of its answer, packed as both
    command lines take it, and those bytes. Nobody reads them."""
    place = urlsplit(server.url)
    tls = ssl.create_default_context(cafile=server.authority)
    headers = {"Authorization": f"Bearer {ADMIN_TOKEN}", "Accept": accept}
    connection = http.client.HTTPSConnection(
        place.hostname or "", place.port, context=tls, timeout=LONGEST_SECONDS
    )
    try:
        connection.connect()
        start = perf_counter()
        connection.request("GET", path, headers={**headers, "Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        body = answer.read()
        seconds = perf_counter() - start
    finally:
        connection.close()
    if answer.status != http.client.OK:
        raise RuntimeError(f"the API server answers {answer.status} to GET {path}")
    return {"seconds": seconds, "bytes": len(body)}
