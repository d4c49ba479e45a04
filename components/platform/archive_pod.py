"""The archive's pod: one container of our image that sees two volumes and few rights."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components.cloud import Volume
from components.platform.controller_pod import managers_first
from components.pod_security import confined, run_as_owner
from spotrain import contract

LABELS = {"app.kubernetes.io/name": contract.ARCHIVE_NAME}
STOP_SECONDS = 10
SCRATCH = "64Mi"


@dataclass(frozen=True, kw_only=True)
class ArchiveKeeping:
    """How long it keeps what."""

    log_days: int
    logs_gib: int
    ledger_days: int | None
    """None: for ever."""

    def environment(self) -> dict[str, str]:
        told = {
            contract.ENV_ARCHIVE_LOG_DAYS: self.log_days,
            contract.ENV_ARCHIVE_LOGS_GIB: self.logs_gib,
            contract.ENV_ARCHIVE_LEDGER_DAYS: self.ledger_days,
        }
        return {name: str(value) for name, value in told.items() if value is not None}


def archive_pod(
    image: pulumi.Input[str],
    namespace: pulumi.Input[str],
    *,
    shared: Volume,
    archive: Volume,
    keeping: ArchiveKeeping,
) -> k8s.core.v1.PodTemplateSpecArgs:
    return k8s.core.v1.PodTemplateSpecArgs(
        metadata=k8s.meta.v1.ObjectMetaArgs(labels=LABELS),
        spec=k8s.core.v1.PodSpecArgs(
            service_account_name=contract.ARCHIVE_NAME,
            automount_service_account_token=True,  # its account says no: only who asks gets one
            affinity=k8s.core.v1.AffinityArgs(node_affinity=managers_first()),
            termination_grace_period_seconds=STOP_SECONDS,
            security_context=run_as_owner(),
            containers=[
                _container(
                    image,
                    {contract.ENV_JOB_NAMESPACE: namespace, **keeping.environment()},
                    shared=shared,
                    archive=archive,
                )
            ],
            volumes=[
                _claimed("shared", shared),
                _claimed("archive", archive),
                k8s.core.v1.VolumeArgs(
                    name="tmp", empty_dir=k8s.core.v1.EmptyDirVolumeSourceArgs(size_limit=SCRATCH)
                ),
            ],
        ),
    )


def _claimed(name: str, volume: Volume) -> k8s.core.v1.VolumeArgs:
    return k8s.core.v1.VolumeArgs(
        name=name,
        persistent_volume_claim=k8s.core.v1.PersistentVolumeClaimVolumeSourceArgs(
            claim_name=volume.claim
        ),
    )


def _container(
    image: pulumi.Input[str],
    environment: Mapping[str, pulumi.Input[str]],
    *,
    shared: Volume,
    archive: Volume,
) -> k8s.core.v1.ContainerArgs:
    return k8s.core.v1.ContainerArgs(
        name="archive",
        image=image,
        command=["python3", "-m", "spotrain.archive"],
        env=[k8s.core.v1.EnvVarArgs(name=name, value=value) for name, value in environment.items()],
        readiness_probe=_probe(failures=2),
        # A volume that hangs is no reason to start anew: that would not help, and take the rest.
        liveness_probe=_probe("--alive", failures=6),
        resources=k8s.core.v1.ResourceRequirementsArgs(
            requests={"cpu": "50m", "memory": "128Mi", "ephemeral-storage": "64Mi"},
            limits={"memory": "1Gi", "ephemeral-storage": "256Mi"},
        ),
        security_context=confined(),
        volume_mounts=[
            k8s.core.v1.VolumeMountArgs(
                name="shared",
                mount_path=f"{shared.mount}/{contract.OUTPUT_DIR}",
                sub_path=contract.OUTPUT_DIR,  # what is in data/ is no business of its
            ),
            k8s.core.v1.VolumeMountArgs(name="archive", mount_path=archive.mount),
            k8s.core.v1.VolumeMountArgs(name="tmp", mount_path="/tmp"),
        ],
    )


def _probe(*arguments: str, failures: int) -> k8s.core.v1.ProbeArgs:
    """Run in the container: nobody else reaches its loopback."""
    action = k8s.core.v1.ExecActionArgs(
        command=["python3", "-m", "spotrain.archive.probe", *arguments]
    )
    return k8s.core.v1.ProbeArgs(
        exec_=action,
        initial_delay_seconds=3,
        period_seconds=30,
        timeout_seconds=10,
        failure_threshold=failures,
    )
