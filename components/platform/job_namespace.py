"""The namespace where researchers' jobs run."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from spotrain import contract

CONTROLLER_JOBS_ROLE = f"{contract.CONTROLLER_NAME}-jobs"
"""The ClusterRole of k8s/rbac.yaml that is granted only inside this namespace."""


@dataclass(frozen=True, kw_only=True)
class JobNamespaceArgs:
    name: str
    kubernetes: k8s.Provider


class JobNamespace(pulumi.ComponentResource):
    """A namespace with pod security, and the controller's rights in it and in no other."""

    name: pulumi.Output[str]
    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: JobNamespaceArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:platform:JobNamespace", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self, provider=args.kubernetes)
        security = "pod-security.kubernetes.io"
        namespace = k8s.core.v1.Namespace(
            f"{name}-namespace",
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=args.name,
                labels={
                    # Old jobs run images with a root user; ours pass `restricted`.
                    f"{security}/enforce": "baseline",
                    f"{security}/warn": "restricted",
                    f"{security}/audit": "restricted",
                },
            ),
            opts=child,
        )
        self.name = namespace.metadata.apply(lambda meta: str(meta.name))
        grant = k8s.rbac.v1.RoleBinding(
            f"{name}-controller",
            metadata=k8s.meta.v1.ObjectMetaArgs(name=CONTROLLER_JOBS_ROLE, namespace=self.name),
            role_ref=k8s.rbac.v1.RoleRefArgs(
                api_group="rbac.authorization.k8s.io",
                kind="ClusterRole",
                name=CONTROLLER_JOBS_ROLE,
            ),
            subjects=[
                k8s.rbac.v1.SubjectArgs(
                    kind="ServiceAccount",
                    name=contract.CONTROLLER_NAME,
                    namespace=contract.SYSTEM_NAMESPACE,
                )
            ],
            opts=child,
        )
        self.ready = (grant,)
        self.register_outputs({"name": self.name})
