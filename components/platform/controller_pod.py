"""The controller's pod: one container of our image, without a right that it does not need."""

import pulumi
import pulumi_kubernetes as k8s

from components.pod_security import confined, run_as
from spotrain import contract

LABELS = {"app.kubernetes.io/name": contract.CONTROLLER_NAME}
STOP_SECONDS = 10
"""It hands over and ends at once when told to; one that hangs keeps its Lease until it is killed,
and 12 seconds longer."""
SCRATCH = "64Mi"
"""Of /tmp, where it puts the certificate that its server reads."""


def controller_pod(
    image: pulumi.Input[str],
    job_namespace: pulumi.Input[str],
    *,
    max_gpus_per_researcher: int | None,
) -> k8s.core.v1.PodTemplateSpecArgs:
    return k8s.core.v1.PodTemplateSpecArgs(
        metadata=k8s.meta.v1.ObjectMetaArgs(labels=LABELS),
        spec=k8s.core.v1.PodSpecArgs(
            service_account_name=contract.CONTROLLER_NAME,
            automount_service_account_token=True,  # its account says no: only who asks gets one
            # Without it no job recovers, and GPU nodes that nobody uses are paid for.
            priority_class_name="system-cluster-critical",
            affinity=k8s.core.v1.AffinityArgs(
                node_affinity=managers_first(), pod_anti_affinity=_apart()
            ),
            topology_spread_constraints=[
                k8s.core.v1.TopologySpreadConstraintArgs(
                    topology_key=contract.LABEL_ZONE,
                    max_skew=1,
                    when_unsatisfiable="ScheduleAnyway",
                    label_selector=k8s.meta.v1.LabelSelectorArgs(match_labels=LABELS),
                )
            ],
            termination_grace_period_seconds=STOP_SECONDS,
            security_context=run_as(contract.JOB_UID),
            containers=[
                _container(image, _environment(job_namespace, max_gpus_per_researcher)),
            ],
            volumes=[
                k8s.core.v1.VolumeArgs(
                    name="tmp", empty_dir=k8s.core.v1.EmptyDirVolumeSourceArgs(size_limit=SCRATCH)
                )
            ],
        ),
    )


def managers_first() -> k8s.core.v1.NodeAffinityArgs:
    """A preference, as a cluster that was there before has no such nodes."""
    managers = k8s.core.v1.NodeSelectorRequirementArgs(
        key=contract.LABEL_ROLE, operator="In", values=[contract.ROLE_MANAGER]
    )
    return k8s.core.v1.NodeAffinityArgs(
        preferred_during_scheduling_ignored_during_execution=[
            k8s.core.v1.PreferredSchedulingTermArgs(
                weight=100,
                preference=k8s.core.v1.NodeSelectorTermArgs(match_expressions=[managers]),
            )
        ]
    )


def _apart() -> k8s.core.v1.PodAntiAffinityArgs:
    """On two nodes, so that one node takes one of them. A preference: a cluster may have one."""
    return k8s.core.v1.PodAntiAffinityArgs(
        preferred_during_scheduling_ignored_during_execution=[
            k8s.core.v1.WeightedPodAffinityTermArgs(
                weight=100,
                pod_affinity_term=k8s.core.v1.PodAffinityTermArgs(
                    topology_key="kubernetes.io/hostname",
                    label_selector=k8s.meta.v1.LabelSelectorArgs(match_labels=LABELS),
                ),
            )
        ]
    )


def _environment(
    job_namespace: pulumi.Input[str], max_gpus_per_researcher: int | None
) -> list[k8s.core.v1.EnvVarArgs]:
    given: dict[str, pulumi.Input[str]] = {contract.ENV_JOB_NAMESPACE: job_namespace}
    if max_gpus_per_researcher is not None:
        given[contract.ENV_MAX_GPUS] = str(max_gpus_per_researcher)
    return [k8s.core.v1.EnvVarArgs(name=name, value=value) for name, value in given.items()]


def _container(
    image: pulumi.Input[str], environment: list[k8s.core.v1.EnvVarArgs]
) -> k8s.core.v1.ContainerArgs:
    ports = {"agents": contract.COORDINATOR_PORT, "metrics": contract.METRICS_PORT}
    return k8s.core.v1.ContainerArgs(
        name="controller",
        image=image,
        command=["python3", "-m", "spotrain.controller"],
        env=environment,
        ports=[
            k8s.core.v1.ContainerPortArgs(name=name, container_port=port)
            for name, port in ports.items()
        ],
        readiness_probe=_probe("/readyz"),
        liveness_probe=_probe("/healthz"),
        resources=k8s.core.v1.ResourceRequirementsArgs(
            requests={"cpu": "100m", "memory": "256Mi", "ephemeral-storage": "64Mi"},
            # No limit on the processor: a controller that is slowed down lets worlds break.
            limits={"memory": "512Mi", "ephemeral-storage": "256Mi"},
        ),
        security_context=confined(),
        volume_mounts=[k8s.core.v1.VolumeMountArgs(name="tmp", mount_path="/tmp")],
    )


def _probe(path: str) -> k8s.core.v1.ProbeArgs:
    action = k8s.core.v1.HTTPGetActionArgs(path=path, port="metrics")
    return k8s.core.v1.ProbeArgs(http_get=action, period_seconds=5, failure_threshold=6)
