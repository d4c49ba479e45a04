"""The requests to the API server of which a drill consists."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spotrain.kinds import NODES, PODS, Kind, Object


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request to the API server."""

    method: str
    kind: Kind
    name: str
    namespace: str = ""
    subresource: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def right(self) -> Object:
        """As RBAC names what it takes, for a SelfSubjectAccessReview."""
        attributes = {
            "verb": {"POST": "create", "DELETE": "delete", "PATCH": "patch"}[self.method],
            "resource": self.kind.plural,
            "subresource": self.subresource,
            "namespace": self.namespace,
            "name": self.name,
        }
        return {key: value for key, value in attributes.items() if value}

    def document(self) -> Object:
        path = self.kind.path(self.namespace, self.name, self.subresource)
        return {"method": self.method, "path": path, "body": dict(self.body)}


@dataclass(frozen=True, kw_only=True)
class Worker:
    """A pod of the job that runs."""

    index: int
    pod: str
    uid: str
    node: str


def eviction(worker: Worker, namespace: str) -> Call:
    """As a drain asks for it: the pod's own grace period, and its disruption budget, hold."""
    return Call(
        method="POST",
        kind=PODS,
        name=worker.pod,
        namespace=namespace,
        subresource="eviction",
        body={
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": worker.pod, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": worker.uid}},
        },
    )


def removal(worker: Worker, namespace: str) -> Call:
    """Grace period 0: the API server forgets the pod before its node has heard of it."""
    return Call(
        method="DELETE",
        kind=PODS,
        name=worker.pod,
        namespace=namespace,
        body={"gracePeriodSeconds": 0, "preconditions": {"uid": worker.uid}},
    )


def cordon(node: str, closed: bool) -> Call:
    return Call(method="PATCH", kind=NODES, name=node, body={"spec": {"unschedulable": closed}})
