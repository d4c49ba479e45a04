"""The people who run jobs, and what they may do."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components.cloud import Person
from components.manifest import Manifest, ManifestArgs, read_manifest
from spotrain import contract

FILE = "researchers.yaml"
RESEARCHERS_JOBS_ROLE = "spotrain-researchers-jobs"
"""The ClusterRole of k8s/researchers.yaml that is granted only inside the job namespace."""
GROUP = "rbac.authorization.k8s.io"
BY_NAME = "-by-name"
"""After the name of a binding of the group: the same for those who are not in it."""


@dataclass(frozen=True, kw_only=True)
class ResearchersArgs:
    job_namespace: pulumi.Input[str]
    people: Sequence[Person]
    """Who has the group's rights without being in it."""
    kubernetes: k8s.Provider
    after: Sequence[pulumi.Resource]
    """The system namespace, in which they may read prices."""


class Researchers(pulumi.ComponentResource):
    """The rights of the researchers' group. Who belongs to it, the cloud says; whom it cannot put
    there is bound beside the group, wherever that is bound."""

    def __init__(
        self, name: str, args: ResearchersArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:platform:Researchers", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self, provider=args.kubernetes)
        rights = Manifest(
            f"{name}-rights",
            ManifestArgs(file=FILE, after=args.after),
            pulumi.ResourceOptions(parent=self, providers=[args.kubernetes]),
        )
        group = k8s.rbac.v1.SubjectArgs(
            api_group=GROUP, kind="Group", name=contract.RESEARCHERS_GROUP
        )
        self._in_jobs(RESEARCHERS_JOBS_ROLE, [group])
        if args.people:
            self._bind_by_name(rights.objects)
        self.register_outputs({})

    def _in_jobs(self, name: str, subjects: Sequence[k8s.rbac.v1.SubjectArgs]) -> None:
        role = name.removesuffix(BY_NAME)
        k8s.rbac.v1.RoleBinding(
            f"{self._name}-jobs{name.removeprefix(role)}",
            metadata=k8s.meta.v1.ObjectMetaArgs(name=name, namespace=self._args.job_namespace),
            role_ref=k8s.rbac.v1.RoleRefArgs(api_group=GROUP, kind="ClusterRole", name=role),
            subjects=list(subjects),
            opts=self._child,
        )

    def _bind_by_name(self, after: Sequence[pulumi.Resource]) -> None:
        people = [
            k8s.rbac.v1.SubjectArgs(api_group=GROUP, kind=person.kind, name=person.name)
            for person in self._args.people
        ]
        self._in_jobs(f"{RESEARCHERS_JOBS_ROLE}{BY_NAME}", people)
        opts = pulumi.ResourceOptions.merge(
            self._child, pulumi.ResourceOptions(depends_on=list(after))
        )
        kinds = {
            "RoleBinding": k8s.rbac.v1.RoleBinding,
            "ClusterRoleBinding": k8s.rbac.v1.ClusterRoleBinding,
        }
        for body in read_manifest(FILE):
            if make := kinds.get(body["kind"]):
                metadata, role = body["metadata"], body["roleRef"]
                namespace = metadata.get("namespace")
                place = f"-{namespace}" if namespace else ""
                make(
                    f"{self._name}-{metadata['name']}{place}{BY_NAME}",
                    metadata=k8s.meta.v1.ObjectMetaArgs(
                        name=f"{metadata['name']}{BY_NAME}", namespace=namespace
                    ),
                    role_ref=k8s.rbac.v1.RoleRefArgs(
                        api_group=GROUP, kind=role["kind"], name=role["name"]
                    ),
                    subjects=people,
                    opts=opts,
                )
