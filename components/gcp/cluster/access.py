"""Who may come to the Kubernetes API, and as what."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as k8s

from components.cloud import Person
from components.gcp.reference import Place

ENTRY = ("container.clusters.connect", "container.clusters.get")
"""To reach the control plane, and to learn where it is. Neither is a right inside the cluster."""


@dataclass(frozen=True, kw_only=True)
class AccessArgs:
    place: Place
    admins: tuple[str, ...]
    """Principals of IAM with full rights."""
    researchers: tuple[str, ...]
    """Principals of IAM that only get in; the platform gives them the researchers' rights."""
    kubernetes: k8s.Provider
    after: Sequence[pulumi.Resource]
    """The API that makes roles."""


class Access(pulumi.ComponentResource):
    """IAM lets people in, by a role with two permissions; the cluster says what they may do there.
    Google's own roles would give rights in every cluster of the project."""

    researchers: tuple[Person, ...]

    def __init__(
        self, name: str, args: AccessArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:gcp:Access", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        self.researchers = tuple(map(person, args.researchers))
        if args.admins or args.researchers:
            self._let_in([*args.admins, *args.researchers])
        if args.admins:
            self._make_admins([person(each) for each in args.admins])
        self.register_outputs({})

    def _let_in(self, principals: Sequence[str]) -> None:
        place = self._args.place
        role = gcp.projects.IAMCustomRole(
            f"{self._name}-entry",
            # A removed role keeps its id for weeks.
            role_id=pulumi.Output.concat("spotrainEntry_", place.suffix),
            title=f"Reach the cluster of spotrain {place.labels['stack']}",
            permissions=list(ENTRY),
            opts=pulumi.ResourceOptions.merge(
                self._child, pulumi.ResourceOptions(depends_on=list(self._args.after))
            ),
        )
        for principal in principals:
            gcp.projects.IAMMember(
                f"{self._name}-{principal}",
                project=place.project,
                role=role.name,
                member=principal,
                opts=self._child,
            )

    def _make_admins(self, people: Sequence[Person]) -> None:
        group = "rbac.authorization.k8s.io"
        k8s.rbac.v1.ClusterRoleBinding(
            f"{self._name}-admins",
            metadata=k8s.meta.v1.ObjectMetaArgs(name="spotrain-admins"),
            role_ref=k8s.rbac.v1.RoleRefArgs(
                api_group=group, kind="ClusterRole", name="cluster-admin"
            ),
            subjects=[
                k8s.rbac.v1.SubjectArgs(api_group=group, kind=each.kind, name=each.name)
                for each in people
            ],
            opts=pulumi.ResourceOptions(parent=self, provider=self._args.kubernetes),
        )


def person(principal: str) -> Person:
    """user:ada@example.com -> the user ada@example.com; a service account is a user too."""
    kind, _, name = principal.partition(":")
    return Person(kind="Group" if kind == "group" else "User", name=name)
