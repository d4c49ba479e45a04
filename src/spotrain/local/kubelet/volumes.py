"""What lies in a pod's volumes: a folder of this machine, or files to be written. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spotrain.local.image import NotLocal
from spotrain.local.kubelet.environment import Sources
from spotrain.local.kubelet.fields import field_value, resource_value

Document = Mapping[str, Any]
DEFAULT_TOKEN_SECONDS = 3600


@dataclass(frozen=True)
class Token:
    """A service account token to be asked for, bound to the pod."""

    path: str
    audience: str
    seconds: int


@dataclass(frozen=True)
class Volume:
    """Where the volume lies, and what the kubelet keeps in it."""

    folder: Path
    files: Mapping[str, bytes] = field(default_factory=dict)
    tokens: tuple[Token, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Places:
    """Folders that stand for what a node has."""

    scratch: Path
    """Of this pod alone."""
    node: Path
    """The node's own file system, as far as pods may see it."""
    claims: Mapping[str, Path]


def plan_volumes(
    pod: Document, sources: Sources, places: Places, addresses: Mapping[str, str]
) -> dict[str, Volume]:
    """Volume name -> volume. Raises NotThere, NotLocal."""
    return {
        volume["name"]: _plan(pod, volume, sources, places, addresses)
        for volume in pod["spec"].get("volumes") or []
    }


def _plan(
    pod: Document, volume: Document, sources: Sources, places: Places, addresses: Mapping[str, str]
) -> Volume:
    own = places.scratch / "volumes" / volume["name"]
    if "emptyDir" in volume:
        return Volume(own)
    if claim := volume.get("persistentVolumeClaim"):
        name = claim["claimName"]
        if name not in places.claims:
            known = ", ".join(sorted(places.claims)) or "none"
            raise NotLocal(f"claim {name!r} has no folder on this machine (there are: {known})")
        return Volume(places.claims[name])
    if path := (volume.get("hostPath") or {}).get("path"):
        return Volume(places.node / path.strip("/"))
    origins = (volume.get("projected") or {}).get("sources")
    if origins is None:
        origins = [{kind: volume[kind]} for kind in _WRITTEN if kind in volume]
    if not origins:
        kinds = ", ".join(sorted(set(volume) - {"name"}))
        raise NotLocal(f"volume {volume['name']!r} is of a kind that only a cluster has: {kinds}")
    files: dict[str, bytes] = {}
    tokens = []
    for origin in origins:
        if token := origin.get("serviceAccountToken"):
            seconds = token.get("expirationSeconds", DEFAULT_TOKEN_SECONDS)
            tokens.append(Token(token["path"], token.get("audience", ""), seconds))
        else:
            files |= _files(pod, origin, sources, addresses)
    return Volume(own, files, tuple(tokens))


_WRITTEN = ("configMap", "secret", "downwardAPI")


def _files(
    pod: Document, origin: Document, sources: Sources, addresses: Mapping[str, str]
) -> dict[str, bytes]:
    for kind in ("configMap", "secret"):
        if reference := origin.get(kind):
            content = sources.content(kind, reference)
            items = reference.get("items") or [{"key": key, "path": key} for key in content]
            found = {item["path"]: sources.key(kind, {**reference, **item}) for item in items}
            return {path: data for path, data in found.items() if data is not None}
    if downward := origin.get("downwardAPI"):
        return {
            item["path"]: _downward(pod, item, addresses).encode()
            for item in downward.get("items") or []
        }
    raise NotLocal(f"a projected volume's source is {dict(origin)!r}, which is not supported here")


def _downward(pod: Document, item: Document, addresses: Mapping[str, str]) -> str:
    if reference := item.get("resourceFieldRef"):
        name = reference["containerName"]
        container = next(one for one in pod["spec"]["containers"] if one["name"] == name)
        return resource_value(container, reference)
    return field_value(pod, item["fieldRef"]["fieldPath"], addresses)
