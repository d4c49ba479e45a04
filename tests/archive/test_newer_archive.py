"""An archive that was brought up to date before its researcher's machine."""

import json
from typing import Any

import httpx2
import pytest

from spotrain.archive.client import BASE_URL, Client
from spotrain.archive.records import JobRecord
from spotrain.archive.records import to_document as record_document
from spotrain.ledger.entries import NodeEntry, Place, to_document
from tests.archive.entries import at, stay, world

JOB = JobRecord(name="digits", uid="u1", created_at=at(0))
NODE = NodeEntry(
    name="n",
    uid="n1",
    place=Place(pool="t4", zone="a", capacity="spot"),
    gpus=1,
    created_at=at(0),
)
NEW_KIND = {"kind": "auction", "bidUsd": 3}
NEW_FORM = {**to_document(world(2)), "number": "two"}
WHOSE = {"job": "digits", "jobUid": "u1"}


def answer(request: httpx2.Request) -> httpx2.Response:
    lines: dict[str, list[dict[str, Any]]] = {
        "/v1/jobs/digits/ledger": [
            {"kind": "job", **record_document(JOB)},
            NEW_KIND,
            to_document(world(1)),
            NEW_FORM,
        ],
        "/v1/nodes": [NEW_KIND, to_document(NODE)],
        "/v1/stays": [{**NEW_KIND, **WHOSE}, {**to_document(stay(1)), **WHOSE}],
    }
    return httpx2.Response(200, text="\n".join(map(json.dumps, lines[request.url.path])))


def test_what_a_newer_archive_tells_is_passed_over_where_it_is_unknown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with httpx2.Client(transport=httpx2.MockTransport(answer), base_url=BASE_URL) as http:
        client = Client(http)
        assert client.ledger("digits").entries == (world(1),)
        assert client.job("digits") == JOB
        assert client.nodes() == [NODE]
        assert [told.stay for told in client.stays()] == [stay(1)]
    assert "'auction' is unknown here" in caplog.text
