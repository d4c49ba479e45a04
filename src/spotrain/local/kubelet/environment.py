"""A container's variables, from everything that they may be taken from. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spotrain.local.expansion import expand
from spotrain.local.image import NotLocal
from spotrain.local.kubelet.fields import field_value, resource_value
from spotrain.local.kubelet.references import name_of

Document = Mapping[str, Any]


class NotThere(Exception):
    """A ConfigMap, a Secret or a key of one: the pod waits until it is made."""


@dataclass(frozen=True)
class Sources:
    """ConfigMaps and Secrets of the pod's namespace: name -> key -> content; no name, no object."""

    config_maps: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)
    secrets: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)

    def content(self, kind: str, reference: Document) -> Mapping[str, bytes]:
        """All keys of the object. `kind`: configMap or secret. Raises NotThere."""
        name = name_of(reference)
        held = (self.config_maps if kind == "configMap" else self.secrets).get(name)
        if held is not None:
            return held
        if reference.get("optional"):
            return {}
        raise NotThere(f'{kind.lower()} "{name}" not found')

    def key(self, kind: str, reference: Document) -> bytes | None:
        """One key; None where it may be missing. Raises NotThere."""
        content = self.content(kind, reference)
        if reference["key"] in content or reference.get("optional"):
            return content.get(reference["key"])
        raise NotThere(f'{kind.lower()} "{name_of(reference)}" has no key "{reference["key"]}"')


def build_environment(
    pod: Document, container: Document, sources: Sources, addresses: Mapping[str, str]
) -> dict[str, str]:
    """envFrom first, then env in its order; later wins, and may refer to what came before.

    Raises NotThere, NotLocal.
    """
    variables: dict[str, str] = {}
    for origin in container.get("envFrom") or []:
        for kind in ("configMap", "secret"):
            if reference := origin.get(f"{kind}Ref"):
                prefix = origin.get("prefix", "")
                for key, content in sources.content(kind, reference).items():
                    variables[prefix + key] = content.decode()
    for entry in container.get("env") or []:
        if "valueFrom" not in entry:
            variables[entry["name"]] = expand(str(entry.get("value", "")), variables)
            continue
        value = _value(pod, container, entry["valueFrom"], sources, addresses)
        if value is not None:
            variables[entry["name"]] = value
    return variables


def _value(
    pod: Document,
    container: Document,
    origin: Document,
    sources: Sources,
    addresses: Mapping[str, str],
) -> str | None:
    if reference := origin.get("fieldRef"):
        return field_value(pod, reference["fieldPath"], addresses)
    if reference := origin.get("resourceFieldRef"):
        return resource_value(container, reference)
    for kind in ("configMap", "secret"):
        if reference := origin.get(f"{kind}KeyRef"):
            value = sources.key(kind, reference)
            return None if value is None else value.decode()
    raise NotLocal(f"a variable's valueFrom is {dict(origin)!r}, which is not supported here")
