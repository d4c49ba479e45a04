"""cluster-autoscaler's own account of its node groups: the ConfigMap that it rewrites every few
seconds, in the form that it has since release 1.30."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import yaml

NAMESPACE: Final = "kube-system"
CONFIGMAP: Final = "cluster-autoscaler-status"
KEY: Final = "status"
UPDATED: Final = "cluster-autoscaler.kubernetes.io/last-updated"
"""Annotation with the time of the last rewriting, as Go prints one."""
QUOTA_WORDS: Final = (
    "quota",
    "vcpulimitexceeded",
    "maxspotinstancecountexceeded",
    "limit exceeded",
    "service-linked role",
)
"""By these a cloud says that it is not allowed, where it could."""
ADDRESS_WORDS: Final = ("ip space exhausted", "ip_space_exhausted")
"""By these it says that the network has no address left for a node."""
GKE_GROUP: Final = re.compile(
    r"https://.+/zones/(?P<zone>[a-z0-9-]+)/instanceGroups/gke-(?P<name>[a-z0-9-]+)-[0-9a-f]{8}-grp"
)
"""GKE names its groups by their address, and cuts the name of cluster and node pool short."""


@dataclass(frozen=True)
class Group:
    name: str
    max_size: int
    target: int
    """Nodes that it has asked for."""
    backs_off: bool
    error: str
    """Why its last order failed, in the cloud's words; empty: it tells of none."""
    since: datetime | None
    """Since when it orders none."""

    def is_of(self, pool: str, zone: str) -> bool:
        """Groups are named after their pool and zone, with what the cloud adds around it."""
        if gke := GKE_GROUP.fullmatch(self.name):
            names = (f"{pool}-{zone}", f"{pool}-{zone[-1:]}")  # the stack's own has the letter
            is_pool = any(_begins(name, gke["name"], len(pool)) for name in names)
            return gke["zone"] == zone and is_pool
        word = re.escape(f"{pool}-{zone}")
        return re.search(rf"(?<![a-z0-9]){word}(?![a-z0-9])", self.name) is not None


@dataclass(frozen=True)
class Autoscaler:
    groups: tuple[Group, ...]
    told_at: datetime | None

    def group(self, pool: str, zone: str) -> Group | None:
        return next((group for group in self.groups if group.is_of(pool, zone)), None)


def read_autoscaler(document: Mapping[str, Any] | None) -> Autoscaler | None:
    """None where it was not read, or is not in this form."""
    try:
        told = yaml.safe_load(((document or {}).get("data") or {}).get(KEY, ""))
    except yaml.YAMLError:
        return None
    if not isinstance(told, Mapping) or not document:
        return None
    annotations = (document.get("metadata") or {}).get("annotations") or {}
    groups = told.get("nodeGroups") or ()
    return Autoscaler(
        groups=tuple(_group(each) for each in groups if isinstance(each, Mapping)),
        told_at=go_time(annotations.get(UPDATED) or str(told.get("time", ""))),
    )


def _begins(word: str, text: str, least: int) -> bool:
    """Whether `text` ends with at least so many characters of the beginning of `word`."""
    ends = (word[:length] for length in range(least, len(word) + 1))
    return any(re.search(rf"(?<![a-z0-9]){re.escape(end)}-?\Z", text) for end in ends)


def is_quota(error: str) -> bool:
    return any(word in error.lower() for word in QUOTA_WORDS)


def lacks_addresses(error: str) -> bool:
    return any(word in error.lower() for word in ADDRESS_WORDS)


def go_time(text: str) -> datetime | None:
    """2026-11-22 07:00:00.123456789 +0000 UTC"""
    parts = text.split()
    if len(parts) < 3:
        return None
    date, clock, offset = parts[:3]
    try:
        return datetime.strptime(f"{date} {clock[:8]} {offset}", "%Y-%m-%d %H:%M:%S %z")
    except ValueError:
        return None


def _group(told: Mapping[str, Any]) -> Group:
    health, up = told.get("health") or {}, told.get("scaleUp") or {}
    why = up.get("backoffInfo") or {}
    parts = (str(why.get("errorCode") or ""), str(why.get("errorMessage") or ""))
    since = up.get("lastTransitionTime")
    return Group(
        name=str(told.get("name", "")),
        max_size=int(health.get("maxSize") or 0),
        target=int(health.get("cloudProviderTarget") or 0),
        backs_off=up.get("status") == "Backoff",
        error=": ".join(part for part in parts if part),
        since=_moment(since),
    )


def _moment(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(str(value)) if value else None
    except ValueError:
        return None
