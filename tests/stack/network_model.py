"""Network policies as a cluster reads them, small enough to ask: may this reach that?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any

Policy = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Place:
    """One end of a connection: a pod, where it has a namespace, or any machine."""

    address: str = "10.0.7.9"
    namespace: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


def may_connect(
    policies: Iterable[Policy], source: Place, target: Place, *, port: int, protocol: str = "TCP"
) -> bool:
    """Both ends must agree; an end that no policy is about agrees to everything."""
    every = list(policies)
    return _agrees(every, "Egress", source, target, port, protocol) and _agrees(
        every, "Ingress", target, source, port, protocol
    )


def _agrees(
    policies: list[Policy], way: str, own: Place, other: Place, port: int, protocol: str
) -> bool:
    about = [p["spec"] for p in policies if _is_about(p, own) and way in p["spec"]["policyTypes"]]
    if not about:
        return True
    peers = "to" if way == "Egress" else "from"
    return any(
        _has_port(rule, port, protocol)
        and (peers not in rule or any(_matches(peer, own, other) for peer in rule[peers]))
        for spec in about
        for rule in spec.get(way.lower(), [])
    )


def _is_about(policy: Policy, place: Place) -> bool:
    if place.namespace != policy["metadata"]["namespace"]:
        return False
    return _selects(policy["spec"]["podSelector"], place.labels)


def _has_port(rule: Mapping[str, Any], port: int, protocol: str) -> bool:
    ports = rule.get("ports")
    return not ports or any(p["port"] == port and p["protocol"] == protocol for p in ports)


def _matches(peer: Mapping[str, Any], own: Place, other: Place) -> bool:
    if block := peer.get("ipBlock"):
        address = ip_address(other.address)
        excepted = any(address in ip_network(e) for e in block.get("except", []))
        return address in ip_network(block["cidr"]) and not excepted
    if other.namespace is None:
        return False
    name = {"kubernetes.io/metadata.name": other.namespace}
    in_namespace = (
        _selects(peer["namespaceSelector"], name)
        if "namespaceSelector" in peer
        else other.namespace == own.namespace
    )
    return in_namespace and _selects(peer.get("podSelector", {}), other.labels)


def _selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    assert selector.keys() <= {"matchLabels"}, "the model knows no expressions"
    wanted: Mapping[str, str] = selector.get("matchLabels", {})
    return wanted.items() <= labels.items()
