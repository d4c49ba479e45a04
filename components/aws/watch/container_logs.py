"""The output of every container, in CloudWatch.

A DaemonSet of our own with AWS's build of Fluent Bit, not the CloudWatch add-on, which cannot be
limited to logs; see docs/decisions/0006-observability.md.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from components.aws import policies
from components.aws.pod_role import PodRole, PodRoleArgs
from components.aws.reference import ClusterReference
from components.aws.watch.container_logs_settings import (
    NAME,
    NAMESPACE,
    PROBE_PORT,
    STATE,
    settings,
)
from components.pod_security import confined
from spotrain import contract

LABELS = {"app.kubernetes.io/name": NAME}
IMAGE = (
    "public.ecr.aws/aws-observability/aws-for-fluent-bit:3.4.15"
    "@sha256:88e1b56cedb230486afeca6eeb26c5f6bd59c48879d0054d1674d5a58838c607"
)
"""Fluent Bit 5.0.9; pod identities need 4.0 at least."""


@dataclass(frozen=True, kw_only=True)
class ContainerLogsArgs:
    cluster: ClusterReference
    days: int
    """How long a line is kept."""
    after: Sequence[pulumi.Resource]
    """What a pod needs."""
    tags: Mapping[str, str]


class ContainerLogs(pulumi.ComponentResource):
    """A log group, and on every node a reader that may do nothing but write to it."""

    def __init__(
        self, name: str, args: ContainerLogsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:ContainerLogs", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        self._kube = pulumi.ResourceOptions(parent=self, provider=args.cluster.kubernetes)
        group = aws.cloudwatch.LogGroup(
            f"{name}-lines",
            retention_in_days=args.days,
            tags=dict(args.tags),
            opts=self._child,
        )
        identity, said = self._identity(group.arn), settings(args.cluster.region)
        account = k8s.core.v1.ServiceAccount(
            f"{name}-account",
            metadata=_metadata(),
            automount_service_account_token=False,
            opts=self._kube,
        )
        config = k8s.core.v1.ConfigMap(
            f"{name}-config",
            metadata=_metadata(),
            data={"fluent-bit.yaml": said},
            opts=self._kube,
        )
        k8s.apps.v1.DaemonSet(
            f"{name}-reader",
            metadata=_metadata(),
            spec=k8s.apps.v1.DaemonSetSpecArgs(
                selector=k8s.meta.v1.LabelSelectorArgs(match_labels=LABELS),
                template=k8s.core.v1.PodTemplateSpecArgs(
                    metadata=k8s.meta.v1.ObjectMetaArgs(
                        labels=LABELS,
                        # It reads its settings once: other ones are for other pods.
                        annotations={f"{contract.DOMAIN}/settings": _fingerprint(said)},
                    ),
                    spec=_pod(account, config, group.name),
                ),
            ),
            opts=pulumi.ResourceOptions.merge(
                self._kube,
                # A pod that starts before its identity exists never gets one.
                pulumi.ResourceOptions(depends_on=[identity, *args.after]),
            ),
        )
        self.register_outputs({})

    def _identity(self, group_arn: pulumi.Output[str]) -> aws.eks.PodIdentityAssociation:
        """Streams and lines in one log group; not to make a group, or a destroyed one returns."""
        args = self._args
        actions = ["logs:CreateLogStream", "logs:PutLogEvents"]
        places = [group_arn, pulumi.Output.concat(group_arn, ":*")]
        role = PodRole(
            f"{self._name}-identity",
            PodRoleArgs(
                cluster_arn=args.cluster.arn,
                namespace=NAMESPACE,
                service_account=NAME,
                statements=[policies.allow(actions, places)],
                tags=args.tags,
            ),
            self._child,
        )
        return aws.eks.PodIdentityAssociation(
            f"{self._name}-identity",
            cluster_name=args.cluster.name,
            namespace=NAMESPACE,
            service_account=NAME,
            role_arn=role.arn,
            tags=dict(args.tags),
            opts=pulumi.ResourceOptions.merge(
                self._child, pulumi.ResourceOptions(depends_on=list(role.ready))
            ),
        )


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _metadata() -> k8s.meta.v1.ObjectMetaArgs:
    return k8s.meta.v1.ObjectMetaArgs(name=NAME, namespace=NAMESPACE, labels=LABELS)


def _pod(
    account: k8s.core.v1.ServiceAccount, config: k8s.core.v1.ConfigMap, group: pulumi.Output[str]
) -> k8s.core.v1.PodSpecArgs:
    def host(name: str, path: str, kind: str) -> k8s.core.v1.VolumeArgs:
        folder = k8s.core.v1.HostPathVolumeSourceArgs(path=path, type=kind)
        return k8s.core.v1.VolumeArgs(name=name, host_path=folder)

    return k8s.core.v1.PodSpecArgs(
        service_account_name=account.metadata.name,
        priority_class_name="system-node-critical",
        # GPU nodes too, and those in trouble: what their containers say is what one wants to read.
        tolerations=[k8s.core.v1.TolerationArgs(operator="Exists")],
        termination_grace_period_seconds=40,  # more than `grace` in the settings
        security_context=k8s.core.v1.PodSecurityContextArgs(
            run_as_user=0,  # whose the files are
            seccomp_profile=k8s.core.v1.SeccompProfileArgs(type="RuntimeDefault"),
        ),
        containers=[_container(group)],
        volumes=[
            host("logs", "/var/log", "Directory"),
            host("state", "/var/lib/spotrain-logs", "DirectoryOrCreate"),
            k8s.core.v1.VolumeArgs(
                name="config",
                config_map=k8s.core.v1.ConfigMapVolumeSourceArgs(name=config.metadata.name),
            ),
        ],
    )


def _container(group: pulumi.Output[str]) -> k8s.core.v1.ContainerArgs:
    def mount(name: str, path: str, read_only: bool = True) -> k8s.core.v1.VolumeMountArgs:
        return k8s.core.v1.VolumeMountArgs(name=name, mount_path=path, read_only=read_only)

    return k8s.core.v1.ContainerArgs(
        name="reader",
        image=IMAGE,
        command=["/fluent-bit/bin/fluent-bit", "-c", "/etc/container-logs/fluent-bit.yaml"],
        env=[k8s.core.v1.EnvVarArgs(name="LOG_GROUP", value=group)],
        ports=[k8s.core.v1.ContainerPortArgs(name="probes", container_port=PROBE_PORT)],
        liveness_probe=k8s.core.v1.ProbeArgs(
            http_get=k8s.core.v1.HTTPGetActionArgs(path="/", port="probes"), period_seconds=30
        ),
        resources=k8s.core.v1.ResourceRequirementsArgs(
            requests={"cpu": "50m", "memory": "64Mi"}, limits={"memory": "256Mi"}
        ),
        security_context=confined(),
        volume_mounts=[
            mount("logs", "/var/log"),
            mount("state", STATE, read_only=False),
            mount("config", "/etc/container-logs"),
        ],
    )
