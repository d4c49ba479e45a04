"""The people who run jobs, and what they may do."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components.manifest import Manifest, ManifestArgs
from spotrain import contract

RESEARCHERS_JOBS_ROLE = "spotrain-researchers-jobs"
"""The ClusterRole of k8s/researchers.yaml that is granted only inside the job namespace."""


@dataclass(frozen=True, kw_only=True)
class ResearchersArgs:
    job_namespace: pulumi.Input[str]
    kubernetes: k8s.Provider
    after: Sequence[pulumi.Resource]
    """The system namespace, in which they may read prices."""


class Researchers(pulumi.ComponentResource):
    """The rights of the researchers' group. Who belongs to it, the cloud says."""

    def __init__(
        self, name: str, args: ResearchersArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:platform:Researchers", name, {}, opts)
        Manifest(
            f"{name}-rights",
            ManifestArgs(file="researchers.yaml", after=args.after),
            pulumi.ResourceOptions(parent=self, providers=[args.kubernetes]),
        )
        group = "rbac.authorization.k8s.io"
        k8s.rbac.v1.RoleBinding(
            f"{name}-jobs",
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=RESEARCHERS_JOBS_ROLE, namespace=args.job_namespace
            ),
            role_ref=k8s.rbac.v1.RoleRefArgs(
                api_group=group, kind="ClusterRole", name=RESEARCHERS_JOBS_ROLE
            ),
            subjects=[
                k8s.rbac.v1.SubjectArgs(
                    api_group=group, kind="Group", name=contract.RESEARCHERS_GROUP
                )
            ],
            opts=pulumi.ResourceOptions(parent=self, provider=args.kubernetes),
        )
        self.register_outputs({})
