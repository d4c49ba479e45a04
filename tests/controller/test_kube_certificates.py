"""The coordinator's certificate and the authority behind it."""

import asyncio
import base64
import ssl
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509

from spotrain.controller.certificates import (
    AUTHORITY_DAYS,
    SERVER_DAYS,
    SERVER_NAMES,
    Credentials,
    make,
    renew,
)
from spotrain.controller.kube import Conflict, NotFound
from spotrain.controller.trust import SECRET, Publisher, keep_credentials, load
from spotrain.kinds import CONFIG_MAPS, SECRETS, Kind

NOW = datetime.now(UTC)
HOST = "spotrain-coordinator.spotrain-system.svc"


@pytest.fixture(scope="module")
def credentials() -> Credentials:
    return make(NOW)


async def shake_hands(shown: Credentials, *, authority: str, host: str) -> str:
    """Connect to a server with these credentials; the host that its certificate is for."""
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load(serving, shown)
    trusting = ssl.create_default_context(cadata=authority)
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT  # the default from Python 3.13 on

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0, ssl=serving)
    async with server:
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=trusting, server_hostname=host
        )
        await reader.read()
        writer.close()
        await writer.wait_closed()
        return host


async def test_agents_that_know_the_authority_trust_the_service_by_its_name(
    credentials: Credentials,
) -> None:
    shown = await shake_hands(credentials, authority=credentials.authority, host=HOST)
    assert shown == HOST


async def test_another_name_is_not_trusted(credentials: Credentials) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        await shake_hands(credentials, authority=credentials.authority, host="evil.svc")


async def test_another_authority_is_not_trusted(credentials: Credentials) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        await shake_hands(credentials, authority=make(NOW).authority, host=HOST)


def test_the_keys_are_not_shown(credentials: Credentials) -> None:
    assert "PRIVATE" not in repr(credentials)


def test_good_credentials_are_kept(credentials: Credentials) -> None:
    assert renew(credentials, NOW) is credentials


def test_a_certificate_with_less_than_thirty_days_is_renewed_under_the_same_authority(
    credentials: Credentials,
) -> None:
    late = NOW + timedelta(days=SERVER_DAYS - 29)
    renewed = renew(credentials, late)
    assert renewed.authority == credentials.authority
    assert renewed.server != credentials.server
    assert renew(renewed, late) is renewed
    certificate = x509.load_pem_x509_certificate(renewed.server.encode())
    assert certificate.not_valid_after_utc > late + timedelta(days=SERVER_DAYS - 1)


def test_an_authority_near_its_end_is_replaced_with_all_it_has_signed(
    credentials: Credentials,
) -> None:
    late = NOW + timedelta(days=AUTHORITY_DAYS - 29)
    renewed = renew(credentials, late)
    assert renewed.authority != credentials.authority
    assert renew(renewed, late) is renewed


def test_a_certificate_never_outlives_its_authority(credentials: Credentials) -> None:
    late = NOW + timedelta(days=AUTHORITY_DAYS - 31)
    renewed = renew(credentials, late)
    ends = [
        x509.load_pem_x509_certificate(text.encode()).not_valid_after_utc
        for text in (renewed.server, renewed.authority)
    ]
    assert ends[0] <= ends[1]
    assert renew(renewed, late) is renewed


@pytest.mark.parametrize("spoilt", ["authority", "authority_key", "server", "server_key"])
@pytest.mark.parametrize("text", ["no PEM", "a stranger's"])
def test_what_cannot_be_read_or_does_not_fit_is_made_anew(
    credentials: Credentials, spoilt: str, text: str
) -> None:
    stranger = getattr(make(NOW), spoilt)
    broken = replace(credentials, **{spoilt: stranger if text == "a stranger's" else text})
    made = renew(broken, NOW)
    assert made.authority not in (credentials.authority, broken.authority)
    assert renew(made, NOW) is made


def test_the_certificate_names_the_service(credentials: Credentials) -> None:
    certificate = x509.load_pem_x509_certificate(credentials.server.encode())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert tuple(names.value.get_values_for_type(x509.DNSName)) == SERVER_NAMES
    assert HOST in SERVER_NAMES


# --- The Secret and the ConfigMaps ---


class Objects:
    """As much of the API server as this needs."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        self.applied: list[tuple[str, Mapping[str, Any]]] = []
        self.before_create: Any = None

    async def get(self, kind: Kind, namespace: str, name: str) -> Any:
        assert (kind, namespace) == (SECRETS, "spotrain-system")
        if name not in self.kept:
            raise NotFound(404, name)
        return self.kept[name]

    async def create(self, kind: Kind, namespace: str, body: Any) -> Any:
        if self.before_create:
            self.kept[SECRET], self.before_create = self.before_create, None
            raise Conflict(409, "already exists")
        self.kept[body["metadata"]["name"]] = _versioned(body, "1")

    async def patch(self, kind: Kind, namespace: str, name: str, body: Any) -> Any:
        kept = self.kept[name]
        assert body["metadata"]["resourceVersion"] == kept["metadata"]["resourceVersion"]
        self.kept[name] = _versioned({**kept, "data": body["data"]}, "2")

    async def apply(self, kind: Kind, namespace: str, body: Mapping[str, Any]) -> Any:
        assert kind == CONFIG_MAPS
        self.applied.append((namespace, body))


def _versioned(body: Any, version: str) -> Any:
    return {**body, "metadata": {**body["metadata"], "resourceVersion": version}}


async def keep(objects: Any) -> Credentials:
    return await keep_credentials(objects)


async def test_credentials_are_made_once_and_found_again() -> None:
    objects = Objects()
    made = await keep(objects)
    assert await keep(objects) == made
    assert set(objects.kept[SECRET]["data"]) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}


async def test_of_two_that_make_credentials_the_first_wins() -> None:
    objects, first = Objects(), Objects()
    made = await keep(first)
    objects.before_create = first.kept[SECRET]
    assert await keep(objects) == made


async def test_a_spoilt_secret_is_replaced() -> None:
    objects = Objects()
    await keep(objects)
    objects.kept[SECRET]["data"]["tls.crt"] = base64.b64encode(b"\xff").decode()
    made = await keep(objects)
    assert await keep(objects) == made


async def test_a_namespace_is_handed_the_authority_once_and_again_after_a_while() -> None:
    objects: Any = Objects()
    publisher = Publisher(objects, "authority")
    for minutes in (0, 1, 11):
        await publisher.publish("jobs", NOW + timedelta(minutes=minutes))
    assert [namespace for namespace, _ in objects.applied] == ["jobs", "jobs"]
    assert objects.applied[0][1]["data"] == {"ca.crt": "authority"}


async def test_a_new_authority_is_handed_out_at_once() -> None:
    objects: Any = Objects()
    publisher = Publisher(objects, "old")
    await publisher.publish("jobs", NOW)
    publisher.set_authority("new")
    await publisher.publish("jobs", NOW)
    assert objects.applied[-1][1]["data"] == {"ca.crt": "new"}
