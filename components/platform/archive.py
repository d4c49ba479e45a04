"""The archive: one pod in the job namespace that keeps and serves what outlives jobs' pods."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components.cloud import Volume
from components.manifest import Manifest, ManifestArgs
from components.platform import job_network
from components.platform.archive_pod import LABELS, ArchiveKeeping, archive_pod
from spotrain import contract

__all__ = ["Archive", "ArchiveArgs", "ArchiveKeeping"]

JOBS_ROLE = f"{contract.ARCHIVE_NAME}-jobs"
"""The ClusterRole of k8s/archive.yaml that is granted only inside the job namespace."""
API_PORTS = (443, 6443)
"""Where API servers listen; their address is not known here, nor does it stay the same."""
GROUP = "rbac.authorization.k8s.io"


@dataclass(frozen=True, kw_only=True)
class ArchiveArgs:
    namespace: pulumi.Input[str]
    """Of the jobs, and so its own."""
    shared: Volume
    """With output/."""
    archive: Volume
    """For ledger and logs; no job can mount it."""
    keeping: ArchiveKeeping
    image: pulumi.Input[str]
    """Controller image, by digest."""
    kubernetes: k8s.Provider
    after: Sequence[pulumi.Resource]
    """The volumes' folders, and the definition of jobs, which it watches."""


class Archive(pulumi.ComponentResource):
    """A Deployment of one pod, its few rights, and its way to the API server.

    It has no Service and listens on its loopback: who may forward ports to pods of the namespace
    reaches it, and nothing in the cluster does.
    """

    def __init__(
        self, name: str, args: ArchiveArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:platform:Archive", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self, provider=args.kubernetes)
        roles = Manifest(
            f"{name}-rights",
            ManifestArgs(file="archive.yaml"),
            pulumi.ResourceOptions(parent=self, providers=[args.kubernetes]),
        )
        account = k8s.core.v1.ServiceAccount(
            f"{name}-account",
            metadata=self._metadata(),
            automount_service_account_token=False,
            opts=self._child,
        )
        needed = (*args.after, *roles.objects, account, *self._grants(), self._network())
        self._deployment(needed)
        self.register_outputs({})

    def _grants(self) -> list[pulumi.Resource]:
        subject = k8s.rbac.v1.SubjectArgs(
            kind="ServiceAccount", name=contract.ARCHIVE_NAME, namespace=self._args.namespace
        )
        in_namespace = k8s.rbac.v1.RoleBinding(
            f"{self._name}-jobs",
            metadata=k8s.meta.v1.ObjectMetaArgs(name=JOBS_ROLE, namespace=self._args.namespace),
            role_ref=k8s.rbac.v1.RoleRefArgs(api_group=GROUP, kind="ClusterRole", name=JOBS_ROLE),
            subjects=[subject],
            opts=self._child,
        )
        everywhere = k8s.rbac.v1.ClusterRoleBinding(
            f"{self._name}-nodes",
            metadata=k8s.meta.v1.ObjectMetaArgs(name=contract.ARCHIVE_NAME),
            role_ref=k8s.rbac.v1.RoleRefArgs(
                api_group=GROUP, kind="ClusterRole", name=contract.ARCHIVE_NAME
            ),
            subjects=[subject],
            opts=self._child,
        )
        return [in_namespace, everywhere]

    def _network(self) -> k8s.networking.v1.NetworkPolicy:
        """Out to the API server, beside what every pod of the namespace may; nobody comes in.

        Its label opens this door, so no pod of a job may have it (k8s/job-pods.yaml).
        """
        rule = job_network.Rule(
            to=[job_network.anywhere_but(job_network.LINK_LOCAL)],
            ports=[job_network.Port(protocol="TCP", port=port) for port in API_PORTS],
        )
        return k8s.networking.v1.NetworkPolicy(
            f"{self._name}-network",
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=f"{job_network.PREFIX}archive", namespace=self._args.namespace
            ),
            spec=job_network.Spec(
                pod_selector=job_network.Labels(match_labels=LABELS),
                policy_types=["Egress"],
                egress=[rule],
            ),
            opts=self._child,
        )

    def _deployment(self, needed: Sequence[pulumi.Resource]) -> None:
        k8s.apps.v1.Deployment(
            f"{self._name}-deployment",
            metadata=self._metadata(),
            spec=k8s.apps.v1.DeploymentSpecArgs(
                replicas=1,
                # One writes; a second one would wait for its lock, and only read.
                strategy=k8s.apps.v1.DeploymentStrategyArgs(type="Recreate"),
                selector=k8s.meta.v1.LabelSelectorArgs(match_labels=LABELS),
                template=archive_pod(
                    self._args.image,
                    self._args.namespace,
                    shared=self._args.shared,
                    archive=self._args.archive,
                    keeping=self._args.keeping,
                ),
            ),
            opts=pulumi.ResourceOptions.merge(
                self._child, pulumi.ResourceOptions(depends_on=list(needed))
            ),
        )

    def _metadata(self) -> k8s.meta.v1.ObjectMetaArgs:
        return k8s.meta.v1.ObjectMetaArgs(
            name=contract.ARCHIVE_NAME, namespace=self._args.namespace, labels=LABELS
        )
