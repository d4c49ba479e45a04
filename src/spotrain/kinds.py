"""The kinds of objects that the controller and the command line know, and where they are kept."""

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from spotrain import contract

Object = dict[str, Any]
"""An object as the API server's JSON has it."""


@dataclass(frozen=True)
class Kind:
    """A kind of object: where the API server keeps it."""

    root: str
    plural: str

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Names are somebody's input: quoted, so that none becomes a query."""
        place = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
        parts = (f"{self.root}{place}/{self.plural}", quote(name, safe=""), subresource)
        return "/".join(part for part in parts if part)


JOBS: Final = Kind(f"/apis/{contract.API_VERSION}", contract.PLURAL)
PODS: Final = Kind("/api/v1", "pods")
NODES: Final = Kind("/api/v1", "nodes")
CONFIG_MAPS: Final = Kind("/api/v1", "configmaps")
SECRETS: Final = Kind("/api/v1", "secrets")
EVENTS: Final = Kind("/api/v1", "events")
DISRUPTION_BUDGETS: Final = Kind("/apis/policy/v1", "poddisruptionbudgets")
NETWORK_POLICIES: Final = Kind("/apis/networking.k8s.io/v1", "networkpolicies")
RESOURCE_QUOTAS: Final = Kind("/api/v1", "resourcequotas")
CLAIMS: Final = Kind("/api/v1", "persistentvolumeclaims")
DEPLOYMENTS: Final = Kind("/apis/apps/v1", "deployments")
DAEMON_SETS: Final = Kind("/apis/apps/v1", "daemonsets")
DEFINITIONS: Final = Kind("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions")
LEASES: Final = Kind("/apis/coordination.k8s.io/v1", "leases")
POD_GROUPS: Final = "podgroups"
"""Of several makers, each in its own API version."""
TOKEN_REVIEWS: Final = Kind("/apis/authentication.k8s.io/v1", "tokenreviews")
