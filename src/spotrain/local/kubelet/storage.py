"""Volumes on this machine's disk: folders made, files written, tokens asked for and renewed."""

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spotrain.controller.kube import Kube, NotFound
from spotrain.kinds import CONFIG_MAPS, SECRETS, Kind
from spotrain.local.kubelet.contents import content_of
from spotrain.local.kubelet.environment import Sources
from spotrain.local.kubelet.references import referenced
from spotrain.local.kubelet.volumes import Token, Volume

KINDS = {"configMap": CONFIG_MAPS, "secret": SECRETS}
RENEW_SHARE = 0.8
"""Of a token's life, as the real kubelet does."""


async def fetch_sources(kube: Kube, pod: Mapping[str, Any]) -> Sources:
    """The ConfigMaps and Secrets that the pod refers to, as far as there are any."""
    found: dict[str, dict[str, Mapping[str, bytes]]] = {"configMap": {}, "secret": {}}
    for kind, name in sorted(referenced(pod)):
        with contextlib.suppress(NotFound):
            document = await kube.get(KINDS[kind], pod["metadata"]["namespace"], name)
            found[kind][name] = content_of(document)
    return Sources(config_maps=found["configMap"], secrets=found["secret"])


class Storage:
    """Writes the volumes of one pod, again and again: what is there already stays."""

    def __init__(self, kube: Kube, pod: Mapping[str, Any]) -> None:
        self._kube = kube
        self._pod = pod
        self._tokens: dict[tuple[Path, str], tuple[bytes, float]] = {}
        """Volume and path -> token, and when it is to be renewed."""

    async def write(self, volume: Volume) -> None:
        """Raises KubeError, or one of LOST, where no token is to be had."""
        volume.folder.mkdir(parents=True, exist_ok=True)
        files = dict(volume.files)
        for token in volume.tokens:
            files[token.path] = await self._token(volume.folder, token)
        for path, data in files.items():
            _replace(volume.folder / path, data)

    async def _token(self, folder: Path, token: Token) -> bytes:
        held, renew_at = self._tokens.get((folder, token.path), (b"", 0.0))
        if time.monotonic() < renew_at:
            return held
        fresh = await self._request(token)
        self._tokens[folder, token.path] = fresh, time.monotonic() + RENEW_SHARE * token.seconds
        return fresh

    async def _request(self, token: Token) -> bytes:
        """A token that is good while this very pod exists."""
        metadata, spec = self._pod["metadata"], self._pod["spec"]
        account = spec.get("serviceAccountName") or "default"
        place = f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}"
        reference = {"apiVersion": "v1", "kind": "Pod"}
        reference |= {key: metadata[key] for key in ("name", "uid")}
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {
                "audiences": [token.audience] if token.audience else [],
                "expirationSeconds": token.seconds,
                "boundObjectRef": reference,
            },
        }
        answer = await self._kube.create(Kind(place, "token"), "", body)
        return str(answer["status"]["token"]).encode()


def _replace(path: Path, data: bytes) -> None:
    """Whole or not at all, for readers that look meanwhile; others may not read it."""
    if path.is_file() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    with open(os.open(partial, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
    partial.replace(path)
