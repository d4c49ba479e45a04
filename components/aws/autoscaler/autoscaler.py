"""cluster-autoscaler: pending pods add GPU nodes, idle nodes go away.

A typed Deployment rather than the Helm chart: every flag is in this repository, tests and the
preview see the objects, and `pulumi up` needs no chart repository; see
docs/decisions/0003-autoscaler.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from components.aws.autoscaler import rights
from components.aws.autoscaler.access import AutoscalerAccess, AutoscalerAccessArgs
from components.aws.autoscaler.flags import NAMESPACE, AutoscalerShape, flags, priorities
from components.aws.pod_role import PodRole, PodRoleArgs
from components.aws.reference import ClusterReference
from components.pod_security import confined, run_as

NAME = "cluster-autoscaler"
PORT = 8085
LABELS = {"app.kubernetes.io/name": NAME}
IMAGES = {
    "1.35": "registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.2"
    "@sha256:aac369dc283927a623deb1af54696efcc722ae79255aa07788422e495bab887d",
    "1.36": "registry.k8s.io/autoscaling/cluster-autoscaler:v1.36.1"
    "@sha256:461388d03eb5b55db58941ee7a81d9a619dd15302b01cbab9f5a9946715994b4",
}
"""Kubernetes version -> image: the autoscaler simulates that version's scheduler."""
PRIORITIES = "cluster-autoscaler-priority-expander"
"""The name under which the autoscaler looks for priorities."""
STATUS = "cluster-autoscaler-status"
REPLICAS = 2
"""One works, one waits: a zone that fails takes GPU nodes and an autoscaler along at once, and
Kubernetes moves a dead node's pod only after five minutes. The other takes over in 15 seconds."""


@dataclass(frozen=True, kw_only=True)
class AutoscalerArgs:
    shape: AutoscalerShape
    cluster: ClusterReference
    spot_groups: Sequence[pulumi.Input[str]]
    """Scaling groups that are tried first."""
    on_demand_groups: Sequence[pulumi.Input[str]]
    after: Sequence[pulumi.Resource]
    """Nodes to run on, and the add-ons that a pod needs."""
    tags: Mapping[str, str]


class Autoscaler(pulumi.ComponentResource):
    """Identity, rights, priorities and Deployment of the autoscaler."""

    def __init__(
        self, name: str, args: AutoscalerArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:Autoscaler", name, {}, opts)
        self._name, self._args = name, args
        self._kube = pulumi.ResourceOptions(parent=self, provider=args.cluster.kubernetes)
        identity = self._identity()
        access = AutoscalerAccess(
            f"{name}-access",
            AutoscalerAccessArgs(
                cluster=args.cluster,
                account=NAME,
                namespace=NAMESPACE,
                config_maps=(STATUS, PRIORITIES),
                labels=LABELS,
            ),
            pulumi.ResourceOptions(parent=self),
        )
        ranks = k8s.core.v1.ConfigMap(
            f"{name}-priorities",
            metadata=_metadata(PRIORITIES),
            data={"priorities": self._priorities()},
            opts=self._kube,
        )
        k8s.apps.v1.Deployment(
            f"{name}-deployment",
            metadata=_metadata(NAME),
            spec=k8s.apps.v1.DeploymentSpecArgs(
                replicas=REPLICAS,
                selector=k8s.meta.v1.LabelSelectorArgs(match_labels=LABELS),
                template=k8s.core.v1.PodTemplateSpecArgs(
                    metadata=k8s.meta.v1.ObjectMetaArgs(labels=LABELS),
                    spec=self._pod(access.account),
                ),
            ),
            opts=pulumi.ResourceOptions.merge(
                self._kube,
                # A pod that starts before its identity exists never gets one.
                pulumi.ResourceOptions(depends_on=[identity, *access.ready, ranks, *args.after]),
            ),
        )
        self._disruption_budget()
        self.register_outputs({})

    def _identity(self) -> aws.eks.PodIdentityAssociation:
        args = self._args
        role = PodRole(
            f"{self._name}-identity",
            PodRoleArgs(
                cluster_arn=args.cluster.arn,
                namespace=NAMESPACE,
                service_account=NAME,
                statements=rights.aws_statements(args.cluster.name, args.cluster.arn),
                tags=args.tags,
            ),
            pulumi.ResourceOptions(parent=self),
        )
        return aws.eks.PodIdentityAssociation(
            f"{self._name}-identity",
            cluster_name=args.cluster.name,
            namespace=NAMESPACE,
            service_account=NAME,
            role_arn=role.arn,
            tags=dict(args.tags),
            # Whoever has the identity has its rights.
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(role.ready)),
        )

    def _priorities(self) -> pulumi.Output[str]:
        """Spot before on-demand before the managers, where more than one group would fit."""
        return pulumi.Output.all(
            spot=pulumi.Output.all(*self._args.spot_groups),
            on_demand=pulumi.Output.all(*self._args.on_demand_groups),
        ).apply(lambda groups: priorities(groups["spot"], groups["on_demand"]))

    def _disruption_budget(self) -> None:
        """One at a time; it never stops a drain, as one of two may always go."""
        k8s.policy.v1.PodDisruptionBudget(
            f"{self._name}-budget",
            metadata=_metadata(NAME),
            spec=k8s.policy.v1.PodDisruptionBudgetSpecArgs(
                max_unavailable=1,
                selector=k8s.meta.v1.LabelSelectorArgs(match_labels=LABELS),
                unhealthy_pod_eviction_policy="AlwaysAllow",
            ),
            opts=self._kube,
        )

    def _pod(self, account: k8s.core.v1.ServiceAccount) -> k8s.core.v1.PodSpecArgs:
        return k8s.core.v1.PodSpecArgs(
            service_account_name=account.metadata.name,
            priority_class_name="system-cluster-critical",
            topology_spread_constraints=[
                k8s.core.v1.TopologySpreadConstraintArgs(
                    topology_key=key,
                    max_skew=1,
                    when_unsatisfiable="ScheduleAnyway",
                    label_selector=k8s.meta.v1.LabelSelectorArgs(match_labels=LABELS),
                )
                for key in ("topology.kubernetes.io/zone", "kubernetes.io/hostname")
            ],
            security_context=run_as(65534),
            containers=[self._container()],
        )

    def _container(self) -> k8s.core.v1.ContainerArgs:
        health = k8s.core.v1.HTTPGetActionArgs(path="/health-check", port="metrics")
        return k8s.core.v1.ContainerArgs(
            name=NAME,
            image=IMAGES[self._args.cluster.version],
            command=["./cluster-autoscaler"],
            args=self._args.cluster.name.apply(lambda name: flags(name, self._args.shape)),
            # The metadata service answers one hop only, so the region comes from here.
            env=[k8s.core.v1.EnvVarArgs(name="AWS_REGION", value=self._args.cluster.region)],
            ports=[k8s.core.v1.ContainerPortArgs(name="metrics", container_port=PORT)],
            liveness_probe=k8s.core.v1.ProbeArgs(
                http_get=health, period_seconds=30, failure_threshold=5
            ),
            readiness_probe=k8s.core.v1.ProbeArgs(http_get=health, period_seconds=10),
            resources=k8s.core.v1.ResourceRequirementsArgs(
                requests={"cpu": "100m", "memory": "400Mi"}, limits={"memory": "800Mi"}
            ),
            security_context=confined(),
        )


def _metadata(name: str) -> k8s.meta.v1.ObjectMetaArgs:
    return k8s.meta.v1.ObjectMetaArgs(name=name, namespace=NAMESPACE, labels=LABELS)
