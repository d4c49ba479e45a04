"""Which ConfigMaps and Secrets a pod takes something from. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

_KINDS: Final = {
    **dict.fromkeys(("configMap", "configMapRef", "configMapKeyRef"), "configMap"),
    **dict.fromkeys(("secret", "secretRef", "secretKeyRef"), "secret"),
}


def referenced(pod: Mapping[str, Any]) -> set[tuple[str, str]]:
    """(configMap or secret, name), of volumes and of variables."""
    spec = pod["spec"]
    places = [
        *(spec.get("volumes") or []),
        *(spec.get("initContainers") or []),
        *spec["containers"],
    ]
    parts = ("configMap", "secret", "projected", "env", "envFrom")
    return {
        found
        for place in places
        for part in parts
        for found in _find({part: place[part]} if part in place else None)
    }


def name_of(reference: Mapping[str, Any]) -> str:
    """Volumes spell a Secret's name in their own way."""
    name: str = reference.get("name") or reference.get("secretName") or ""
    return name


def _find(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for item in value:
            yield from _find(item)
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key in _KINDS and isinstance(item, Mapping):
                yield _KINDS[key], name_of(item)
            yield from _find(item)
