"""Tokens read with their issuer's keys: only what the issuer has signed, for us, for now."""

import base64
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from hypothesis import given
from hypothesis import strategies as st

from spotrain.controller.bearer import ASK_AGAIN_SECONDS, Bearer, Reader, bearer_in
from spotrain.controller.web_token import InvalidToken, IssuerKeys, claims_of
from tests.controller.kube_fake import ScriptedKube

NOW = 1_800_000_000.0
POD = {"namespace": "jobs", "pod": {"name": "digits-worker-0", "uid": "uid-0"}}
CLAIMS = {
    "iss": "https://issuer",
    "aud": ["spotrain"],
    "nbf": NOW - 60,
    "exp": NOW + 3600,
    "kubernetes.io": POD,
}
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def number(value: int) -> str:
    return text(value.to_bytes((value.bit_length() + 7) // 8))


def published() -> list[dict[str, Any]]:
    numbers, point = RSA_KEY.public_key().public_numbers(), EC_KEY.public_key().public_numbers()
    return [
        {"kid": "r", "kty": "RSA", "n": number(numbers.n), "e": number(numbers.e)},
        {"kid": "e", "kty": "EC", "crv": "P-256", "x": number(point.x), "y": number(point.y)},
    ]


KEYS = IssuerKeys("https://issuer", tuple(published()))


def token(algorithm: str = "RS256", kid: str = "", **changes: Any) -> str:
    head = {"alg": algorithm, "kid": kid or algorithm[0].lower()}
    parts = [text(json.dumps(part).encode()) for part in (head, {**CLAIMS, **changes})]
    signed = ".".join(parts).encode()
    if algorithm == "RS256":
        signature = RSA_KEY.sign(signed, padding.PKCS1v15(), hashes.SHA256())
    else:
        r, s = decode_dss_signature(EC_KEY.sign(signed, ec.ECDSA(hashes.SHA256())))
        signature = r.to_bytes(32) + s.to_bytes(32)
    return ".".join((*parts, text(signature)))


def read(given: str, now: float = NOW) -> Bearer | None:
    return bearer_in(claims_of(given, KEYS, audience="spotrain", now=now))


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_a_token_that_the_issuer_signed_names_its_pod(algorithm: str) -> None:
    assert read(token(algorithm)) == Bearer("jobs", "digits-worker-0", "uid-0")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        pytest.param(token(iss="https://else"), "of another issuer", id="issuer"),
        pytest.param(token(aud=["api"]), "for another audience", id="audience"),
        pytest.param(token(aud=None), "for another audience", id="no-audience"),
        pytest.param(token(exp=NOW - 31), "has expired", id="expired"),
        pytest.param(token(exp=None), "times cannot be read", id="endless"),
        pytest.param(token(nbf=NOW + 31), "not valid yet", id="early"),
        pytest.param(token(kid="other"), "does not publish", id="unknown-key"),
        pytest.param(token("ES256", kid="r"), "signature is not", id="key-of-another-kind"),
        pytest.param(token("RS256", kid="e"), "signature is not", id="key-of-yet-another-kind"),
        pytest.param("a.b", "no signed web token", id="two-parts"),
        pytest.param("é.b.c", "cannot be read", id="no-ascii"),
        pytest.param("a.b.c", "cannot be read", id="no-json"),
        pytest.param(text(b"[1]") + ".b.c", "cannot be read", id="no-object"),
    ],
)
def test_any_other_token_is_refused_with_the_reason(given: str, why: str) -> None:
    with pytest.raises(InvalidToken, match=why):
        read(given)


def test_a_token_that_names_its_own_algorithm_away_is_refused() -> None:
    head = text(json.dumps({"alg": "none", "kid": "r"}).encode())
    with pytest.raises(InvalidToken, match="signature is not"):
        read(f"{head}.{text(json.dumps(CLAIMS).encode())}.")


@given(st.integers(0, 10_000), st.sampled_from("AQgw_-9z"), st.sampled_from(["RS256", "ES256"]))
def test_no_character_of_a_token_can_be_changed(place: int, to: str, algorithm: str) -> None:
    whole = token(algorithm)
    at = place % (len(whole) - 1)  # the last one carries bits that mean nothing
    changed = whole[:at] + to + whole[at + 1 :]
    if changed != whole:
        with pytest.raises(InvalidToken):
            read(changed)


@given(st.text(max_size=60), st.text(max_size=60))
def test_nonsense_is_refused_and_never_crashes(claims: str, signature: str) -> None:
    head = text(json.dumps({"alg": "RS256", "kid": "r"}).encode())
    with pytest.raises(InvalidToken):
        read(f"{head}.{claims}.{signature}")


@pytest.mark.parametrize("bound", [None, {}, {"namespace": "jobs"}, {**POD, "pod": {"name": "x"}}])
def test_a_token_that_is_bound_to_no_pod_has_no_bearer(bound: Any) -> None:
    assert read(token(**{"kubernetes.io": bound})) is None


def reader(answers: list[Any], clock: list[float]) -> tuple[Reader, ScriptedKube]:
    script = ScriptedKube({"get": answers})
    kube: Any = script
    return Reader(kube, clock=lambda: clock[0], now=lambda: NOW), script


async def test_the_keys_are_asked_for_once_and_again_when_the_issuer_has_changed_them() -> None:
    issuer = {"issuer": "https://issuer"}
    old, new = published()[1:], published()
    clock = [0.0]
    door, script = reader([issuer, {"keys": old}, issuer, {"keys": new}], clock)
    assert await door.bearer(token("ES256")) is not None
    assert await door.bearer(token("ES256")) is not None
    assert len(script.asked) == 2
    assert await door.bearer(token("RS256")) is None  # asked a moment ago: not again
    assert len(script.asked) == 2
    clock[0] = ASK_AGAIN_SECONDS
    assert await door.bearer(token("RS256")) is not None
    assert len(script.asked) == 4


async def test_a_refused_token_is_not_repeated_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    door, _ = reader([{"issuer": "https://issuer"}, {"keys": published()}], [0.0])
    refused = token(aud=["api"])
    assert await door.bearer(refused) is None
    assert "for another audience" in caplog.text
    assert refused.split(".")[1] not in caplog.text
