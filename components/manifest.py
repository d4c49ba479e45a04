"""Plain YAML from k8s/, registered object by object.

Pulumi's own yaml.v2.ConfigFile makes its objects inside the provider, so under mocks, and in the
preview, they do not exist; see docs/decisions/0002-kubernetes-objects.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as k8s
import yaml

FOLDER = Path(__file__).parents[1] / "k8s"
ADMISSION = "admissionregistration.k8s.io/v1"
OPERATOR = "monitoring.coreos.com/v1"
"""Of the Prometheus operator, which defines these kinds."""
CLASSES: Mapping[tuple[str, str], Callable[..., pulumi.CustomResource]] = {
    (OPERATOR, "PodMonitor"): partial(
        k8s.apiextensions.CustomResource, api_version=OPERATOR, kind="PodMonitor"
    ),
    (OPERATOR, "PrometheusRule"): partial(
        k8s.apiextensions.CustomResource, api_version=OPERATOR, kind="PrometheusRule"
    ),
    (ADMISSION, "ValidatingAdmissionPolicy"): (
        k8s.admissionregistration.v1.ValidatingAdmissionPolicy
    ),
    (ADMISSION, "ValidatingAdmissionPolicyBinding"): (
        k8s.admissionregistration.v1.ValidatingAdmissionPolicyBinding
    ),
    ("v1", "ConfigMap"): k8s.core.v1.ConfigMap,
    ("v1", "Namespace"): k8s.core.v1.Namespace,
    ("v1", "ServiceAccount"): k8s.core.v1.ServiceAccount,
    ("apps/v1", "DaemonSet"): k8s.apps.v1.DaemonSet,
    ("scheduling.k8s.io/v1", "PriorityClass"): k8s.scheduling.v1.PriorityClass,
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): (
        k8s.apiextensions.v1.CustomResourceDefinition
    ),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): k8s.rbac.v1.ClusterRole,
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): k8s.rbac.v1.ClusterRoleBinding,
    ("rbac.authorization.k8s.io/v1", "Role"): k8s.rbac.v1.Role,
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): k8s.rbac.v1.RoleBinding,
}
"""What our files hold; another kind needs one more line."""


@dataclass(frozen=True, kw_only=True)
class ManifestArgs:
    file: str
    """Name of the file in k8s/."""
    after: Sequence[pulumi.Resource] = ()
    """What each object waits for; a component's own depends_on does not reach what is in it."""


class Manifest(pulumi.ComponentResource):
    """The objects of one YAML file; namespaces in it come before everything else."""

    objects: tuple[pulumi.CustomResource, ...]

    def __init__(
        self, name: str, args: ManifestArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:platform:Manifest", name, {}, opts)
        documents = read_manifest(args.file)
        namespaces = [
            self._register(name, d, after=args.after) for d in documents if d["kind"] == "Namespace"
        ]
        others = [
            self._register(name, document, after=[*args.after, *namespaces])
            for document in documents
            if document["kind"] != "Namespace"
        ]
        self.objects = (*namespaces, *others)
        self.register_outputs({})

    def _register(
        self,
        name: str,
        document: Mapping[str, Any],
        after: Sequence[pulumi.Resource],
    ) -> pulumi.CustomResource:
        body = {k: v for k, v in document.items() if k not in ("apiVersion", "kind")}
        resource = CLASSES[document["apiVersion"], document["kind"]]
        return resource(
            f"{name}-{document['metadata']['name']}",
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(after)),
            **_snake_keys(body),
        )


def read_manifest(file: str) -> list[dict[str, Any]]:
    """The documents of a file in k8s/."""
    return [d for d in yaml.safe_load_all((FOLDER / file).read_text()) if d]


def _snake_keys(body: Mapping[str, Any]) -> dict[str, Any]:
    """roleRef -> role_ref: keyword arguments of the typed classes, one level deep."""
    return {"".join(f"_{c.lower()}" if c.isupper() else c for c in k): v for k, v in body.items()}
