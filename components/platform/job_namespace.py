"""The namespace where researchers' jobs run, and what holds for every pod in it."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components.cloud import Cloud
from components.manifest import Manifest, ManifestArgs
from components.platform import job_network, job_quota
from spotrain import contract

CONTROLLER_JOBS_ROLE = f"{contract.CONTROLLER_NAME}-jobs"
"""The ClusterRole of k8s/rbac.yaml that is granted only inside this namespace."""
DEFAULT_REQUESTS = {"cpu": "250m", "memory": "512Mi"}
"""Of containers that say nothing. Old job files do not, and a pod that asks for nothing is the
first to be killed on a full node and counts as no load when nodes are added. There is no default
limit: it would end such a job at the first batch."""

LONGEST_GOODBYE = "30m"
"""For a destroy under running jobs, whose templates may ask for a long grace period."""


@dataclass(frozen=True, kw_only=True)
class JobNamespaceArgs:
    name: str
    gpu_quota: int | None
    """Most GPUs of all jobs together; None: what the pools can have."""
    egress: job_network.Egress
    cloud: Cloud


class JobNamespace(pulumi.ComponentResource):
    """A namespace with pod security, policies, quotas, priorities, and the controller's rights.

    It is made after the nodes and so removed before them: its removal waits until the last pod in
    it has stopped, and until the pod network has let go of the policies.
    """

    name: pulumi.Output[str]
    ready: tuple[pulumi.Resource, ...]
    """What must hold before the first pod of a job."""

    def __init__(
        self, name: str, args: JobNamespaceArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:platform:JobNamespace", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self, provider=args.cloud.kubernetes)
        namespace = self._namespace()
        self.name = namespace.metadata.apply(lambda meta: str(meta.name))
        classes = Manifest(
            f"{name}-priorities",
            ManifestArgs(file="priority-classes.yaml"),
            pulumi.ResourceOptions(parent=self, providers=[args.cloud.kubernetes]),
        )
        guard = Manifest(
            f"{name}-pods",
            ManifestArgs(file="job-pods.yaml"),
            pulumi.ResourceOptions(parent=self, providers=[args.cloud.kubernetes]),
        )
        self.ready = (
            self._grant(),
            self._defaults(),
            *self._policies(),
            *self._quotas(),
            *classes.objects,
            *guard.objects,
        )
        self.register_outputs({"name": self.name})

    def _namespace(self) -> k8s.core.v1.Namespace:
        security = "pod-security.kubernetes.io"
        return k8s.core.v1.Namespace(
            f"{self._name}-namespace",
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=self._args.name,
                labels={
                    contract.LABEL_JOBS: "true",  # by which k8s/job-pods.yaml finds it
                    # Old jobs run images with a root user; ours pass `restricted`.
                    f"{security}/enforce": "baseline",
                    f"{security}/warn": "restricted",
                    f"{security}/audit": "restricted",
                },
            ),
            opts=pulumi.ResourceOptions.merge(
                self._child,
                # Pods stop only while their node is there, and the policies' finalizer is removed
                # only while the pod network's add-on is.
                pulumi.ResourceOptions(
                    depends_on=list(self._args.cloud.ready),
                    custom_timeouts=pulumi.CustomTimeouts(delete=LONGEST_GOODBYE),
                ),
            ),
        )

    def _grant(self) -> k8s.rbac.v1.RoleBinding:
        return k8s.rbac.v1.RoleBinding(
            f"{self._name}-controller",
            metadata=self._metadata(CONTROLLER_JOBS_ROLE),
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
            opts=self._child,
        )

    def _defaults(self) -> k8s.core.v1.LimitRange:
        item = k8s.core.v1.LimitRangeItemArgs(type="Container", default_request=DEFAULT_REQUESTS)
        return k8s.core.v1.LimitRange(
            f"{self._name}-defaults",
            metadata=self._metadata("spotrain-defaults"),
            spec=k8s.core.v1.LimitRangeSpecArgs(limits=[item]),
            opts=self._child,
        )

    def _policies(self) -> list[k8s.networking.v1.NetworkPolicy]:
        policies = job_network.policies(self._args.egress, self._args.cloud.job_credentials)
        return [
            k8s.networking.v1.NetworkPolicy(
                f"{self._name}-network-{policy.removeprefix(job_network.PREFIX)}",
                metadata=self._metadata(policy),
                spec=spec,
                opts=self._child,
            )
            for policy, spec in policies.items()
        ]

    def _quotas(self) -> list[k8s.core.v1.ResourceQuota]:
        quotas = job_quota.quotas(self._args.cloud.pools, self._args.gpu_quota)
        return [
            k8s.core.v1.ResourceQuota(
                f"{self._name}-quota-{role}",
                metadata=self._metadata(role),
                spec=quota.spec(),
                opts=self._child,
            )
            for role, quota in quotas.items()
        ]

    def _metadata(self, name: str) -> k8s.meta.v1.ObjectMetaArgs:
        return k8s.meta.v1.ObjectMetaArgs(name=name, namespace=self.name)
