"""How agents and coordinator come to trust each other: a certificate one way, a token the other."""

import asyncio
import base64
import binascii
import logging
import ssl
import tempfile
from collections import defaultdict
from datetime import UTC, datetime
from typing import Final

from spotrain import contract
from spotrain.controller import certificates
from spotrain.controller.certificates import Credentials
from spotrain.controller.environment import CA_FILE
from spotrain.controller.kube import Conflict, Kube, NotFound
from spotrain.controller.pod import CA_CONFIGMAP
from spotrain.kinds import CONFIG_MAPS, SECRETS, Object

logger = logging.getLogger(__name__)

SECRET: Final = f"{contract.COORDINATOR_SERVICE}-tls"
_KEYS: Final = {
    "authority": "ca.crt",
    "authority_key": "ca.key",
    "server": "tls.crt",
    "server_key": "tls.key",
}
"""Field of Credentials -> key of the Secret."""
PUBLISH_SECONDS: Final = 600.0
"""A namespace's copy of the authority that was changed by others is ours again after this."""


async def keep_credentials(kube: Kube) -> Credentials:
    """The credentials in the Secret: made if there are none, renewed when they near their end.

    Whoever writes first wins: a second controller takes what it finds.
    """
    while True:
        now = datetime.now(UTC)
        try:
            secret = await kube.get(SECRETS, contract.SYSTEM_NAMESPACE, SECRET)
        except NotFound:
            secret = None
        held = _decode(secret) if secret else None
        wanted = certificates.renew(held, now) if held else certificates.make(now)
        if wanted == held:
            return wanted
        try:
            await _store(kube, wanted, secret)
        except Conflict:
            continue
        logger.info("stored a new certificate of the coordinator in the Secret %s", SECRET)
        return wanted


async def _store(kube: Kube, credentials: Credentials, secret: Object | None) -> None:
    metadata = {"name": SECRET, "namespace": contract.SYSTEM_NAMESPACE}
    data = {key: _base64(getattr(credentials, name)) for name, key in _KEYS.items()}
    if secret is None:
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
        await kube.create(SECRETS, contract.SYSTEM_NAMESPACE, body)
        return
    version = {"resourceVersion": secret["metadata"]["resourceVersion"]}
    body = {"metadata": version, "data": data}
    await kube.patch(SECRETS, contract.SYSTEM_NAMESPACE, SECRET, body)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decode(secret: Object) -> Credentials | None:
    """None where a key is missing or spoilt."""
    data = secret.get("data") or {}
    try:
        texts = {name: base64.b64decode(data[key]).decode() for name, key in _KEYS.items()}
    except (KeyError, binascii.Error, UnicodeDecodeError):
        return None
    return Credentials(**texts)


def load(context: ssl.SSLContext, credentials: Credentials) -> None:
    """Show this certificate from the next connection on. OpenSSL reads keys from files only."""
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # readable by this user alone
        file.write(credentials.server + credentials.server_key)
        file.flush()
        context.load_cert_chain(file.name)


class Publisher:
    """Hands the authority's certificate to the namespaces that have jobs."""

    def __init__(self, kube: Kube, authority: str) -> None:
        self._kube = kube
        self._authority = authority
        self._published: dict[str, datetime] = {}
        self._publishing: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def set_authority(self, authority: str) -> None:
        if authority != self._authority:
            self._authority = authority
            self._published.clear()

    async def publish(self, namespace: str, now: datetime) -> None:
        """Pods there wait for this ConfigMap to start. Many jobs ask, one request is made."""
        if self._is_fresh(namespace, now):
            return
        async with self._publishing[namespace]:
            if not self._is_fresh(namespace, now):
                await self._apply(namespace)
                self._published[namespace] = now

    def _is_fresh(self, namespace: str, now: datetime) -> bool:
        last = self._published.get(namespace)
        return last is not None and (now - last).total_seconds() < PUBLISH_SECONDS

    async def _apply(self, namespace: str) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": CA_CONFIGMAP, "namespace": namespace},
            "data": {CA_FILE: self._authority},
        }
        await self._kube.apply(CONFIG_MAPS, namespace, body)
