"""The downward API: what a pod may know about itself. Pure."""

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from spotrain.local.image import NotLocal

_SUBSCRIPT: Final = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
_UNITS: Final = {
    "": 1.0,
    "m": 1e-3,
    **{unit: 1000.0**power for power, unit in enumerate("kMGTP", 1)},
    **{f"{unit}i": 1024.0**power for power, unit in enumerate("KMGTP", 1)},
}


def field_value(pod: Mapping[str, Any], path: str, addresses: Mapping[str, str]) -> str:
    """Of a fieldRef. `addresses`: status.podIP, status.hostIP and their plurals.

    Raises NotLocal for a field that there is not.
    """
    metadata, spec = pod["metadata"], pod["spec"]
    if found := _SUBSCRIPT.fullmatch(path):
        return str((metadata.get(found[1]) or {}).get(found[2], ""))
    if path in ("metadata.labels", "metadata.annotations"):
        entries = metadata.get(path.removeprefix("metadata.")) or {}
        return "\n".join(f'{name}="{entries[name]}"' for name in sorted(entries))
    values = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "metadata.uid": metadata["uid"],
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", "default"),
        **addresses,
    }
    if path not in values:
        raise NotLocal(f"fieldRef {path!r} is none that a pod has; see `kubectl explain`")
    return str(values[path])


def resource_value(container: Mapping[str, Any], reference: Mapping[str, Any]) -> str:
    """Of a resourceFieldRef: the quantity in units of its divisor, rounded up."""
    group, _, name = reference["resource"].partition(".")
    given = ((container.get("resources") or {}).get(group) or {}).get(name, "0")
    divisor = amount(str(reference.get("divisor") or "1")) or 1.0
    return str(math.ceil(amount(str(given)) / divisor))


def amount(quantity: str) -> float:
    """Kubernetes' 500m, 8Gi or 2 as a number. Raises NotLocal."""
    found = re.fullmatch(r"([0-9.]+)([a-zA-Z]*)", quantity)
    if not found or found[2] not in _UNITS:
        raise NotLocal(f"{quantity!r} is no quantity such as 500m, 2 or 8Gi")
    return float(found[1]) * _UNITS[found[2]]
