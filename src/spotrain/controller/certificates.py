"""The authority that agents trust, and the coordinator's certificate under it.

The authority is made once and kept; the server's certificate is renewed under it, so agents that
run for months never see a change.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from spotrain import contract

AUTHORITY_DAYS: Final = 3650
SERVER_DAYS: Final = 365
RENEW_DAYS: Final = 30
"""With fewer left, a certificate is renewed."""
SKEW: Final = timedelta(hours=1)
"""Valid from a little before its making: clocks of nodes differ."""
_SERVICE: Final = f"{contract.COORDINATOR_SERVICE}.{contract.SYSTEM_NAMESPACE}"
SERVER_NAMES: Final = (
    contract.COORDINATOR_SERVICE,
    _SERVICE,
    f"{_SERVICE}.svc",
    f"{_SERVICE}.svc.cluster.local",
)


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """PEM texts. The keys are never printed."""

    authority: str
    authority_key: str = field(repr=False)
    server: str
    server_key: str = field(repr=False)


def make(now: datetime) -> Credentials:
    """A new authority, and a server certificate under it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(f"{contract.COORDINATOR_SERVICE} authority")
    certificate = (
        _builder(name, name, key, start=now, end=now + timedelta(days=AUTHORITY_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(_subject_key(key), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _issue(certificate, key, now)


def renew(held: Credentials, now: datetime) -> Credentials:
    """The same credentials while they are good for `RENEW_DAYS`; else what replaces them.

    An authority near its end is replaced with all that it signed; until then the server's
    certificate alone changes. What cannot be read, or does not fit together, is made anew.
    """
    try:
        authority = x509.load_pem_x509_certificate(held.authority.encode())
        authority_key = _load_key(held.authority_key, authority)
        server = x509.load_pem_x509_certificate(held.server.encode())
        _load_key(held.server_key, server)
        server.verify_directly_issued_by(authority)
        is_ours = _names(server) == SERVER_NAMES
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return make(now)
    last = now + timedelta(days=RENEW_DAYS)
    if authority.not_valid_after_utc < last:
        return make(now)
    if is_ours and server.not_valid_after_utc >= last:
        return held
    return _issue(authority, authority_key, now)


def _load_key(text: str, certificate: x509.Certificate) -> ec.EllipticCurvePrivateKey:
    """Raises ValueError for one that is not this certificate's."""
    key = serialization.load_pem_private_key(text.encode(), None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("the key is of a kind that is never made here")
    if key.public_key() != certificate.public_key():
        raise ValueError("the key is not that of its certificate")
    return key


def _issue(
    authority: x509.Certificate, authority_key: ec.EllipticCurvePrivateKey, now: datetime
) -> Credentials:
    """A server certificate that ends with its authority at the latest."""
    key = ec.generate_private_key(ec.SECP256R1())
    end = min(now + timedelta(days=SERVER_DAYS), authority.not_valid_after_utc)
    alternatives = x509.SubjectAlternativeName([x509.DNSName(name) for name in SERVER_NAMES])
    certificate = (
        _builder(_name(contract.COORDINATOR_SERVICE), authority.subject, key, start=now, end=end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(alternatives, critical=False)
        .add_extension(_subject_key(key), critical=False)
        # Python 3.13 refuses certificates that do not say which key has signed them.
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()),
            critical=False,
        )
        .sign(authority_key, hashes.SHA256())
    )
    return Credentials(
        authority=_pem(authority),
        authority_key=_key_pem(authority_key),
        server=_pem(certificate),
        server_key=_key_pem(key),
    )


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    *,
    start: datetime,
    end: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start - SKEW)
        .not_valid_after(end)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return tuple(found.value.get_values_for_type(x509.DNSName))


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _subject_key(key: ec.EllipticCurvePrivateKey) -> x509.SubjectKeyIdentifier:
    return x509.SubjectKeyIdentifier.from_public_key(key.public_key())


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()
