"""A term's beginning: what is known before the first job is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import httpx2
import pytest

from spotrain.controller.gang import COSCHEDULING, GANG_APIS
from spotrain.controller.kube import Kube
from spotrain.controller.meters import Meters
from spotrain.controller.settings import Settings
from spotrain.controller.term import Term

BEGUN = httpx2.Response(200, json={"resources": [{"name": "podgroups"}]})
FAULTS: list[httpx2.Response | Exception] = [
    httpx2.Response(503, json={"message": "starting"}),
    httpx2.ReadTimeout("busy"),
    httpx2.ConnectError("refused"),
]


class Api:
    """Answers discovery from a script, and every list with nothing."""

    def __init__(self, discovery: list[httpx2.Response | Exception]) -> None:
        self.discovery = discovery
        self.asked: list[str] = []

    async def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request.url.path)
        if request.url.path.removeprefix("/apis/") in GANG_APIS:
            answer = self.discovery.pop(0) if self.discovery else httpx2.Response(404, json={})
            if isinstance(answer, Exception):
                raise answer
            return answer
        if "watch" in request.url.params:
            await asyncio.Event().wait()
        return httpx2.Response(200, json={"items": [], "metadata": {"resourceVersion": "1"}})


@asynccontextmanager
async def serving(api: Api) -> AsyncIterator[Term]:
    """A term that has come so far as to serve agents."""
    async with httpx2.AsyncClient(
        base_url="http://kube", transport=httpx2.MockTransport(api.answer)
    ) as http:
        term = Term(
            Kube(http),
            settings=Settings(),
            authority="",
            leads=lambda: True,
            meters=Meters(),
            node_lost_seconds=30.0,
        )
        served = asyncio.Event()
        work = asyncio.ensure_future(term.run(lambda it: served.set() if it else None))
        done, _ = await asyncio.wait(
            {work, asyncio.ensure_future(served.wait())}, return_when=asyncio.FIRST_COMPLETED
        )
        assert work not in done
        yield term
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work


@pytest.mark.parametrize("fault", FAULTS, ids=["unavailable", "silent", "refused"])
async def test_a_term_outlives_an_api_server_that_cannot_tell_of_gang_schedulers_yet(
    fault: httpx2.Response | Exception,
) -> None:
    api = Api([fault, BEGUN])
    async with serving(api) as term:
        assert term.cluster.gang_apis == {COSCHEDULING}
        # Of a job that is seen sooner, pods would be made outside their gang.
        lookups = [path.removeprefix("/apis/") in GANG_APIS for path in api.asked]
        assert lookups == sorted(lookups, reverse=True)


async def test_a_term_without_the_right_to_look_for_gang_schedulers_uses_none() -> None:
    async with serving(Api([httpx2.Response(403, json={"message": "no"})])) as term:
        assert term.cluster.gang_apis == frozenset()
