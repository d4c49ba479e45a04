"""What networks and clouds do to a store in a bucket, and what it makes of it."""

import gc
import re
import threading
import traceback
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import torch
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.exceptions import ClientError  # type: ignore[import-untyped]
from google.cloud.storage.retry import DEFAULT_RETRY  # type: ignore[import-untyped]
from google.oauth2.credentials import Credentials

from spotrain.checkpoints.retention import Retention, prune
from spotrain.checkpoints.store import Store, read
from spotrain.checkpoints.store.gs import LIMITS
from spotrain.checkpoints.store.s3 import PATIENCE
from spotrain.train.checkpoint import Catalogue, CheckpointError, CheckpointId
from tests.train.buckets import GsServer, Server, server_of
from tests.train.faults import Answer, Cut, Proxy, Request, busy, cut, lose, proxy_to, shorten

# Google's client leaves the connection of a download that failed to the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    r"ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
)

MEGABYTE = 1 << 20
PART = 5 * MEGABYTE
DENIED = {
    "s3": Answer(
        403,
        b"<Error><Code>AccessDenied</Code><Message>not authorized to perform: s3:PutObject"
        b"</Message></Error>",
        "application/xml",
    ),
    "gs": Answer(
        403,
        b'{"error": {"code": 403, "message": "the account does not have storage.objects.create '
        b'access to the Google Cloud Storage object."}}',
    ),
}
DENIED_IN_PART = Answer(
    200,
    b"<DeleteResult><Deleted><Key>a/1</Key></Deleted><Error><Key>a/2</Key>"
    b"<Code>AccessDenied</Code><Message>kept by a policy</Message></Error></DeleteResult>",
    "application/xml",
)
EXPIRED = Answer(
    400,
    b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>",
    "application/xml",
)


@pytest.fixture(scope="module", params=["s3", "gs"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with server_of(request.param) as made:
        yield made


@pytest.fixture(scope="module")
def gs() -> Iterator[GsServer]:
    with server_of("gs") as made:
        assert isinstance(made, GsServer)
        yield made


@pytest.fixture
def between(server: Server) -> Iterator[Proxy]:
    with proxy_to(server.address) as made:
        yield made


@pytest.fixture
def store(server: Server, between: Proxy) -> Iterator[Store]:
    """Reached through the proxy."""
    client = server.client_at(between.address)
    yield server.store(server.new_place(), client=client, part=PART)
    client.close()


def put(store: Store, name: str, data: bytes = b"data") -> None:
    with store.write(name) as sink:
        for start in range(0, len(data), MEGABYTE):
            sink(memoryview(data)[start : start + MEGABYTE])


def writes(request: Request) -> bool:
    return request.method in ("PUT", "POST")


def deletes(request: Request) -> bool:
    return request.method == "DELETE" or (request.method == "POST" and "?delete" in request.path)


def is_part(request: Request) -> bool:
    return request.method == "PUT" and re.search("partNumber=|upload_id=", request.path) is not None


def save(catalogue: Catalogue, step: int) -> None:
    state = {"weights": torch.full((1000,), float(step))}
    catalogue.stage(CheckpointId(1, step), state, epoch=0, cursor=0).publish()


def test_a_name_that_was_given_by_a_request_whose_answer_got_lost_is_ours(
    store: Store, between: Proxy
) -> None:
    put(store, "a/draft", b"first")
    between.once(writes, lose)
    store.publish("a/draft", "taken.json")
    assert read(store, "taken.json") == b"first"


def test_another_ones_name_stays_another_ones_when_an_answer_gets_lost(
    store: Store, between: Proxy
) -> None:
    put(store, "a/draft", b"first")
    put(store, "b/draft", b"second")
    store.publish("a/draft", "taken.json")
    between.once(writes, lose)
    with pytest.raises(FileExistsError):
        store.publish("b/draft", "taken.json")
    assert read(store, "taken.json") == b"first"


def test_a_part_that_did_not_arrive_is_sent_again(store: Store, between: Proxy) -> None:
    data = bytes(range(256)) * (12 * MEGABYTE // 256)
    between.once(is_part, cut)
    put(store, "a/one", data)
    assert read(store, "a/one") == data


def test_a_cloud_that_is_busy_is_asked_again(store: Store, between: Proxy) -> None:
    between.once(lambda _: True, busy)
    put(store, "a/one")
    between.once(lambda _: True, busy)
    assert read(store, "a/one") == b"data"
    between.once(lambda _: True, busy)
    assert store.files("a") == ["a/one"]


def test_an_answer_that_breaks_off_is_no_shorter_file(store: Store, between: Proxy) -> None:
    put(store, "a/one", bytes(range(256)) * 1024)
    between.once(lambda request: request.method == "GET", shorten)
    try:
        found = read(store, "a/one")
    except OSError:
        return
    assert found == bytes(range(256)) * 1024


def test_an_upload_that_is_given_up_without_a_network_is_never_completed(
    store: Store, between: Proxy
) -> None:
    arrived = threading.Event()

    def no_network(request: Request) -> None:
        if is_part(request) and request.body:
            arrived.set()
        elif arrived.is_set():
            raise Cut

    def give_up() -> None:
        between.fault = no_network
        with store.write("a/one") as sink:
            sink(memoryview(bytes(PART)))
            arrived.wait()
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        give_up()
    between.fault = lambda _: None
    gc.collect()
    assert store.files("a") == []


def test_a_save_that_nobody_may_make_says_so_and_is_not_tried_again(
    server: Server, store: Store, between: Proxy
) -> None:
    catalogue = Catalogue(store)
    save(catalogue, 1)
    between.fault = lambda request: DENIED[server.scheme] if writes(request) else None
    between.requests.clear()
    with pytest.raises(CheckpointError, match=rf"{store}/.*(AccessDenied|403): .*nothing was"):
        save(catalogue, 2)
    assert len([request for request in between.requests if writes(request)]) == 1
    newest = catalogue.newest_intact()
    assert newest is not None
    assert newest.id == CheckpointId(1, 1)


def test_a_manifest_that_nobody_may_remove_has_not_moved(
    server: Server, store: Store, between: Proxy
) -> None:
    """Or its data would go while it still names them."""
    catalogue = Catalogue(store)
    save(catalogue, 1)
    save(catalogue, 2)
    between.fault = lambda request: DENIED[server.scheme] if deletes(request) else None
    with pytest.raises(OSError, match=r"AccessDenied|403"):
        store.move("w000001-s00000001.json", "history/w000001-s00000001.json")
    assert prune(catalogue, Retention(keep=1)) == []
    between.fault = lambda _: None
    assert [entry.id.step for entry in catalogue.manifests()] == [2, 1]
    assert all(catalogue.damage(manifest) == "" for manifest in catalogue.manifests())


def test_a_bucket_that_nobody_may_read_is_no_empty_one(
    server: Server, store: Store, between: Proxy
) -> None:
    save(Catalogue(store), 1)
    between.fault = lambda _: DENIED[server.scheme]
    with pytest.raises(OSError, match=r"AccessDenied|403"):
        Catalogue(store).newest_intact()


def test_credentials_that_have_expired_are_an_error_of_the_store() -> None:
    with server_of("s3") as s3, proxy_to(s3.address) as between:
        between.fault = lambda _: EXPIRED
        client = s3.client_at(between.address)
        store = s3.store(s3.new_place(), client=client)
        with pytest.raises(OSError, match=rf"{store}/a/one: ExpiredToken: The provided token"):
            put(store, "a/one")
        client.close()


def test_a_link_that_is_slow_but_never_idle_is_given_the_time_that_it_takes(
    server: Server, between: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The body takes several times as long as may be spent on connecting."""
    monkeypatch.setitem(LIMITS, "timeout", (0.5, 60))
    patient = PATIENCE.merge(Config(connect_timeout=0.5, retries={"total_max_attempts": 1}))
    monkeypatch.setattr("tests.train.buckets.PATIENCE", patient)
    client = server.client_at(between.address)
    store = server.store(server.new_place(), client=client, part=16 * MEGABYTE)
    between.piece, between.pause_seconds = MEGABYTE // 2, 0.05
    put(store, "a/one", bytes(16 * MEGABYTE + 1))
    between.pause_seconds = 0
    assert len([request for request in between.requests if len(request.body) > MEGABYTE]) == 1
    assert store.size("a/one") == 16 * MEGABYTE + 1
    client.close()


def test_a_move_asks_for_no_more_than_every_store_has(server: Server, between: Proxy) -> None:
    """Some that speak S3 cannot delete many at once, or not as boto3 asks for it."""
    client = server.client_at(between.address)
    store = server.store(server.new_place(), client=client)
    put(store, "one.json")
    between.fault = lambda request: Answer(501, b"<Error/>") if "?delete" in request.path else None
    store.move("one.json", "history/one.json")
    assert (store.files(), store.files("history")) == ([], ["history/one.json"])
    client.close()


def test_objects_that_nobody_may_delete_keep_none_behind_them(
    server: Server, store: Store, between: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first request is denied; S3's are of two objects here."""
    monkeypatch.setattr("spotrain.checkpoints.store.s3.AT_ONCE", 2)
    for name in ("a/1", "a/2", "a/3", "a/4"):
        put(store, name)
    between.once(deletes, lambda _: DENIED[server.scheme])
    store.remove("a")
    assert store.files("a") == {"s3": ["a/1", "a/2"], "gs": ["a/1"]}[server.scheme]


# --- S3 alone ------------------------------------------------------------------------------------


def test_a_delete_that_succeeded_for_some_is_an_error_of_the_others() -> None:
    with server_of("s3") as s3, proxy_to(s3.address) as between:
        between.fault = lambda request: DENIED_IN_PART if deletes(request) else None
        client = s3.client_at(between.address)
        objects = s3.objects(s3.new_bucket(), client)
        with pytest.raises(ClientError, match=r"AccessDenied.*kept by a policy"):
            objects.delete(["a/1", "a/2"])
        client.close()


# --- Cloud Storage alone -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("token", "said"),
    [
        pytest.param(
            Answer(400, b'{"error": "invalid_grant", "error_description": "It has expired"}'),
            "It has expired",
            id="no new one",
        ),
        pytest.param(
            Answer(200, b'{"access_token": "new", "expires_in": 3600}'),
            "401: .*Invalid Credentials",
            id="nor the new one",
        ),
    ],
)
def test_a_token_that_has_expired_is_an_error_of_the_store(
    gs: GsServer, token: Answer, said: str
) -> None:
    with proxy_to(gs.address) as between:
        refused = Answer(401, b'{"error": {"code": 401, "message": "Invalid Credentials"}}')
        between.fault = lambda request: token if request.path == "/token" else refused
        identity = Credentials(  # type: ignore[no-untyped-call]
            "old",
            refresh_token="old",
            token_uri=f"{between.address}/token",
            client_id="id",
            client_secret="secret",
        )
        client = gs.client_at(between.address, identity)
        store = gs.store(gs.new_place(), client=client)
        with pytest.raises(OSError, match=rf"{store}/a/one: .*{said}"):
            put(store, "a/one")
        client.close()


@pytest.mark.parametrize("size", [1000, PART + 1000], ids=["at once", "in parts"])
def test_bytes_that_change_on_their_way_leave_no_file(gs: GsServer, size: int) -> None:
    def damage(request: Request) -> Request:
        return replace(request, body=request.body.replace(b"x" * 500, b"x" * 499 + b"y", 1))

    with proxy_to(gs.address) as between:
        client = gs.client_at(between.address)
        store = gs.store(gs.new_place(), client=client, part=PART)
        between.once(lambda request: len(request.body) >= 1000, damage)
        with pytest.raises(OSError, match=r"(?i)checksum|crc32c"):
            put(store, "a/one", b"x" * size)
        assert store.files("a") == []
        client.close()


CHUNK = 512 << 10


def kept(request: Request, size: int) -> Request:
    """A chunk of which that much arrives."""
    first, _, rest = request.headers["content-range"].removeprefix("bytes ").partition("-")
    total = rest.partition("/")[2]
    there = f"bytes {first}-{int(first) + size - 1}/{total}"
    return replace(
        request,
        body=request.body[:size],
        headers={
            **{k: v for k, v in request.headers.items() if k.lower() != "content-range"},
            "content-range": there,
        },
    )


@pytest.mark.parametrize("size", [2 * CHUNK, 2 * CHUNK + 10, 3 * CHUNK])
@pytest.mark.parametrize("chunk", [1, 2, 3])
def test_an_upload_goes_on_where_google_kept_less_of_a_chunk_than_was_sent(
    gs: GsServer, size: int, chunk: int
) -> None:
    def keep(request: Request) -> Request | None:
        chunks.append(request)
        return kept(request, len(request.body) // 2) if len(chunks) == chunk else None

    chunks: list[Request] = []
    data = bytes(range(256)) * (size // 256) + bytes(size % 256)
    with proxy_to(gs.address) as between:
        client = gs.client_at(between.address)
        store = gs.store(gs.new_place(), client=client, part=CHUNK)
        between.fault = lambda request: keep(request) if is_part(request) and request.body else None
        put(store, "a/one", data)
        assert read(store, "a/one") == data
        client.close()


def test_an_upload_begins_anew_where_google_kept_nothing(gs: GsServer) -> None:
    left = [Answer(308, b""), Answer(308, b"")]  # to the chunk, and to how much of it is there
    with proxy_to(gs.address) as between:
        client = gs.client_at(between.address)
        store = gs.store(gs.new_place(), client=client, part=CHUNK)
        between.fault = lambda request: left.pop() if is_part(request) and left else None
        put(store, "a/one", bytes(2 * CHUNK + 10))
        assert (left, store.size("a/one")) == ([], 2 * CHUNK + 10)
        client.close()


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Answer(308, b""), id="nothing"),
        pytest.param(Answer(308, b"", headers={"range": f"bytes=0-{9 * CHUNK}"}), id="too much"),
    ],
)
@pytest.mark.parametrize("size", [CHUNK // 2 + CHUNK, CHUNK])
def test_what_google_keeps_for_good_of_an_upload_is_an_error_of_the_store(
    gs: GsServer, answer: Answer, size: int
) -> None:
    with proxy_to(gs.address) as between:
        client = gs.client_at(between.address)
        store = gs.store(gs.new_place(), client=client, part=CHUNK)
        between.fault = lambda request: answer if is_part(request) else None
        with pytest.raises(OSError, match=rf"{store}/a/one: "):
            put(store, "a/one", bytes(size))
        client.close()


def upload_id(request: Request) -> str:
    return parse_qs(urlsplit(request.path).query)["upload_id"][0]


def test_an_upload_is_given_up_at_its_own_address(gs: GsServer) -> None:
    def give_up(store: Store) -> None:
        with store.write("a/one") as sink:
            sink(memoryview(bytes(2 * CHUNK)))
            raise RuntimeError("no more")

    with proxy_to(gs.address) as between:
        client = gs.client_at(between.address)
        store = gs.store(gs.new_place(), client=client, part=CHUNK)
        with pytest.raises(RuntimeError, match="no more"):
            give_up(store)
        (given_up,) = [upload_id(request) for request in between.requests if deletes(request)]
        parts = [upload_id(request) for request in between.requests if is_part(request)]
        assert set(parts) == {given_up}
        assert store.files("a") == []
        client.close()


def test_no_error_tells_the_address_of_an_upload(
    gs: GsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has it may write there for a week, and logs are read by many."""
    monkeypatch.setitem(LIMITS, "retry", DEFAULT_RETRY.with_timeout(0.1))
    with proxy_to(gs.address) as between:
        client = gs.client_at(between.address)
        store = gs.store(gs.new_place(), client=client, part=CHUNK)
        between.fault = lambda request: cut(request) if is_part(request) else None
        with pytest.raises(
            OSError, match=rf"{store}/a/one: tried for .* ConnectionError"
        ) as failed:
            put(store, "a/one", bytes(2 * CHUNK))
        told = "".join(traceback.format_exception(failed.value))
        secrets = {upload_id(request) for request in between.requests if is_part(request)}
        assert secrets
        assert not [secret for secret in secrets if secret in told]
        client.close()


def test_files_go_up_in_one_request_or_in_chunks_of_8_mib(gs: GsServer) -> None:
    with proxy_to(gs.address) as between:
        client = gs.client_at(between.address)
        store = gs.store(gs.new_place(), client=client)
        put(store, "a/one", bytes(8 * MEGABYTE - 1))
        assert [request.method for request in between.requests] == ["POST"]
        put(store, "a/two", bytes(20 * MEGABYTE))
        sizes = [len(request.body) for request in between.requests if is_part(request)]
        assert sizes == [8 * MEGABYTE, 8 * MEGABYTE, 4 * MEGABYTE]
        client.close()


RIGHTS = {
    r"GET /storage/v1/b/[^/]+/o\?": "storage.objects.list",
    r"GET (/download)?/storage/v1/b/[^/]+/o/": "storage.objects.get",
    r"(POST|PUT) /upload/storage/v1/b/[^/]+/o\?": "storage.objects.create",
    r"POST /storage/v1/b/[^/]+/o/[^/]+/copyTo/b/[^/]+/o/": "storage.objects.create",
    r"DELETE /storage/v1/b/[^/]+/o/": "storage.objects.delete",
}
"""Request -> the permission that Google asks for."""


def test_it_asks_google_for_nothing_that_jobs_may_not_do(gs: GsServer) -> None:
    """Roles of components/gcp/storage/bucket.py: objects are listed and read anywhere, created and
    deleted below the output. Of the bucket itself jobs know nothing."""
    with proxy_to(gs.address) as between:
        client = gs.client_at(between.address)
        name = gs.new_bucket()
        store = gs.store(f"gs://{name}/output/run1/checkpoints", client=client, part=PART)
        catalogue = Catalogue(store)
        save(catalogue, 1)
        put(store, "w000001-s00000002.left/one", bytes(PART + 1))
        assert catalogue.newest_intact() is not None
        store.age_seconds("w000001-s00000002.left")
        store.move("w000001-s00000001.json", "history/w000001-s00000001.json")
        store.remove("w000001-s00000002.left")
        client.close()
    seen = set()
    for request in between.requests:
        line = f"{request.method} {request.path}"
        (right,) = [right for pattern, right in RIGHTS.items() if re.match(pattern, line)]
        seen.add(right)
        if right in ("storage.objects.create", "storage.objects.delete"):
            said = unquote(request.path).encode() + request.body[:1000]  # some name it in the body
            assert b"output/run1/checkpoints/" in said
    assert seen == set(RIGHTS.values())
