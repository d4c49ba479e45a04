"""A pod's ServiceAccount token, checked by its issuer's public keys alone. Pure.

Where the controller may not ask the API server to review tokens (a right over the whole cluster),
it reads them itself: signature, issuer, audience and time. That the pod still lives is checked by
whoever asks. Only the two algorithms that Kubernetes clusters sign with are taken.
"""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

LEEWAY_SECONDS: Final = 30.0
"""Clocks of the API server and of this node differ."""
_P256_BYTES: Final = 32


class InvalidToken(Exception):
    """Why it counts for nothing; the token itself is never repeated."""


@dataclass(frozen=True)
class IssuerKeys:
    """What the API server publishes for those who check its tokens: a JSON Web Key Set."""

    issuer: str
    keys: tuple[Mapping[str, Any], ...]

    def named(self, name: object) -> Mapping[str, Any] | None:
        return next((key for key in self.keys if key.get("kid") == name), None)


def key_name(token: str) -> str:
    """Of the key that it says it is signed with. Raises InvalidToken."""
    return str(_object(_parts(token)[0], "header").get("kid", ""))


def claims_of(token: str, keys: IssuerKeys, *, audience: str, now: float) -> Mapping[str, Any]:
    """What the token says, once it is proven. `now`: Unix seconds. Raises InvalidToken."""
    header_text, claims_text, signature_text = _parts(token)
    header = _object(header_text, "header")
    key = keys.named(header.get("kid"))
    if key is None:
        raise InvalidToken("it is signed with a key that the issuer does not publish")
    signed = f"{header_text}.{claims_text}".encode()
    try:
        _verify(header.get("alg"), key, _bytes(signature_text), signed)
    except (InvalidSignature, ValueError, KeyError, TypeError, AttributeError):
        raise InvalidToken("its signature is not the issuer's") from None
    claims = _object(claims_text, "claims")
    if claims.get("iss") != keys.issuer:
        raise InvalidToken("it is of another issuer")
    told = claims.get("aud")
    if audience not in (told if isinstance(told, list) else [told]):
        raise InvalidToken("it is for another audience")
    if not _number(claims.get("nbf", 0)) - LEEWAY_SECONDS <= now:
        raise InvalidToken("it is not valid yet")
    if not now < _number(claims.get("exp")) + LEEWAY_SECONDS:
        raise InvalidToken("it has expired")
    return claims


def _verify(algorithm: object, key: Mapping[str, Any], signature: bytes, signed: bytes) -> None:
    """The key decides what it is good for, never the token."""
    if algorithm == "RS256" and key["kty"] == "RSA":
        numbers = rsa.RSAPublicNumbers(e=_integer(key["e"]), n=_integer(key["n"]))
        numbers.public_key().verify(signature, signed, padding.PKCS1v15(), hashes.SHA256())
    elif algorithm == "ES256" and key["kty"] == "EC" and key["crv"] == "P-256":
        if len(signature) != 2 * _P256_BYTES:
            raise InvalidSignature
        r, s = (int.from_bytes(half) for half in _halves(signature))
        point = ec.EllipticCurvePublicNumbers(_integer(key["x"]), _integer(key["y"]), _CURVE)
        point.public_key().verify(encode_dss_signature(r, s), signed, ec.ECDSA(hashes.SHA256()))
    else:
        raise InvalidSignature


_CURVE: Final = ec.SECP256R1()


def _halves(signature: bytes) -> tuple[bytes, bytes]:
    return signature[:_P256_BYTES], signature[_P256_BYTES:]


def _parts(token: str) -> Sequence[str]:
    parts = token.split(".")
    if len(parts) != 3:
        raise InvalidToken("it is no signed web token")
    return parts


def _object(text: str, what: str) -> dict[str, Any]:
    try:
        found = json.loads(_bytes(text))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidToken(f"its {what} cannot be read")
    return found


def _number(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise InvalidToken("its times cannot be read")


def _integer(text: str) -> int:
    return int.from_bytes(_bytes(text))


def _bytes(text: str) -> bytes:
    """Of base64 for addresses, without its padding. Raises ValueError."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
