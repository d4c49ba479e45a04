"""Whether a status as stored says already what a kubelet would write. Pure."""

from collections.abc import Mapping
from typing import Any


def differs(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """What others have added to the stored status does not count."""
    held = {condition["type"]: condition for condition in stored.get("conditions") or []}
    for condition in wanted.get("conditions") or []:
        if not _holds(held.get(condition["type"]), condition):
            return True
    rest = {key: value for key, value in wanted.items() if key != "conditions"}
    return not _holds(stored, rest)


def _holds(stored: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(stored, Mapping) and all(
            _holds(stored.get(key), value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(stored, list)
            and len(stored) == len(wanted)
            and all(map(_holds, stored, wanted))
        )
    return bool(stored == wanted)
