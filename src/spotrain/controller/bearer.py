"""Whom a token belongs to: asked of the API server, or read with its public keys."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from spotrain import contract
from spotrain.controller.kube import Kube
from spotrain.controller.web_token import InvalidToken, IssuerKeys, claims_of, key_name
from spotrain.kinds import TOKEN_REVIEWS, Kind

logger = logging.getLogger(__name__)

POD_NAME: Final = "authentication.kubernetes.io/pod-name"
POD_UID: Final = "authentication.kubernetes.io/pod-uid"
ISSUER: Final = Kind("/.well-known", "openid-configuration")
ISSUER_KEYS: Final = Kind("/openid/v1", "jwks")
"""Every service account may read both, by a role that each cluster has from its start."""
ASK_AGAIN_SECONDS: Final = 10.0
"""Tokens with made-up keys must not have the controller ask the API server all day."""


@dataclass(frozen=True)
class Bearer:
    """Whom the API server says a token belongs to."""

    namespace: str
    pod: str
    pod_uid: str


class Reviewer:
    """By TokenReview: a right over the whole cluster."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    async def bearer(self, token: str) -> Bearer | None:
        """None: not valid, not for us, or not bound to a pod. Raises FAULTS."""
        review = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token, "audiences": [contract.TOKEN_AUDIENCE]},
        }
        return bearer_of((await self._kube.create(TOKEN_REVIEWS, "", review)).get("status") or {})


class Reader:
    """By the issuer's keys: no right is needed beyond what every service account has."""

    def __init__(
        self,
        kube: Kube,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._now = now
        self._keys: IssuerKeys | None = None
        self._asked_at = float("-inf")

    async def bearer(self, token: str) -> Bearer | None:
        """As Reviewer's."""
        try:
            keys = await self._keys_for(key_name(token))
            audience = contract.TOKEN_AUDIENCE
            return bearer_in(claims_of(token, keys, audience=audience, now=self._now()))
        except InvalidToken as fault:
            logger.info("a token is refused: %s", fault)
            return None

    async def _keys_for(self, name: str) -> IssuerKeys:
        """Issuers change their keys: one that is not known yet is asked for."""
        known = self._keys
        if known and known.named(name):
            return known
        if known is None or self._clock() - self._asked_at >= ASK_AGAIN_SECONDS:
            self._asked_at = self._clock()
            issuer = (await self._kube.get(ISSUER, "", ""))["issuer"]
            keys = (await self._kube.get(ISSUER_KEYS, "", "")).get("keys") or ()
            known = self._keys = IssuerKeys(issuer, tuple(keys))
        return known


def bearer_of(status: Mapping[str, Any]) -> Bearer | None:
    """The pod in a TokenReview's status; None: not valid, not for us, or not bound to a pod."""
    if not status.get("authenticated") or contract.TOKEN_AUDIENCE not in status.get(
        "audiences", ()
    ):
        return None
    user = status.get("user") or {}
    extra = user.get("extra") or {}
    names, uids = extra.get(POD_NAME) or [], extra.get(POD_UID) or []
    parts = user.get("username", "").split(":")
    if len(names) != 1 or len(uids) != 1 or parts[:2] != ["system", "serviceaccount"]:
        return None
    return Bearer(parts[2], names[0], uids[0])


def bearer_in(claims: Mapping[str, Any]) -> Bearer | None:
    """The pod in a proven token's claims; None: it is bound to no pod."""
    bound = claims.get("kubernetes.io")
    pod = bound.get("pod") if isinstance(bound, Mapping) else None
    if not isinstance(bound, Mapping) or not isinstance(pod, Mapping):
        return None
    namespace, name, uid = bound.get("namespace"), pod.get("name"), pod.get("uid")
    if isinstance(namespace, str) and isinstance(name, str) and isinstance(uid, str):
        return Bearer(namespace, name, uid)
    return None
