"""The shared volume as jobs see it: one claim, with data/ and output/ in it."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components.cloud import CsiVolume, Volume
from spotrain import contract

SIZE = "1Ti"
"""Kubernetes wants a number; a shared file system grows and shrinks with what is in it."""
MAKE_FOLDERS = "import os, sys; [os.makedirs(folder, exist_ok=True) for folder in sys.argv[1:]]"


@dataclass(frozen=True, kw_only=True)
class SharedVolumeArgs:
    namespace: pulumi.Input[str]
    volume: Volume
    image: pulumi.Input[str]
    """Any image of ours: it makes the folders."""
    kubernetes: k8s.Provider
    after: Sequence[pulumi.Resource]
    """What a pod needs to mount the volume."""


class SharedVolume(pulumi.ComponentResource):
    """A static volume, its claim in the job namespace, and a Job that makes data/ and output/.

    Static, because the data must be the same after the claim, or the whole cluster, was replaced.
    """

    claim: k8s.core.v1.PersistentVolumeClaim

    def __init__(
        self, name: str, args: SharedVolumeArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:platform:SharedVolume", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self, provider=args.kubernetes)
        self.claim = self._claim(self._volume())
        k8s.batch.v1.Job(
            f"{name}-folders",
            metadata=k8s.meta.v1.ObjectMetaArgs(namespace=args.namespace),
            spec=k8s.batch.v1.JobSpecArgs(
                backoff_limit=5,
                template=k8s.core.v1.PodTemplateSpecArgs(spec=self._pod()),
            ),
            opts=pulumi.ResourceOptions.merge(
                self._child, pulumi.ResourceOptions(depends_on=list(args.after))
            ),
        )
        self.register_outputs({})

    def _volume(self) -> k8s.core.v1.PersistentVolume:
        volume = self._args.volume.source
        assert isinstance(volume, CsiVolume)
        return k8s.core.v1.PersistentVolume(
            f"{self._name}-volume",
            spec=k8s.core.v1.PersistentVolumeSpecArgs(
                capacity={"storage": SIZE},
                access_modes=["ReadWriteMany"],
                persistent_volume_reclaim_policy="Retain",
                storage_class_name="",  # never matched with anybody else's claim
                mount_options=list(volume.mount_options),
                csi=k8s.core.v1.CSIPersistentVolumeSourceArgs(
                    driver=volume.driver,
                    volume_handle=volume.handle,
                    volume_attributes=dict(volume.attributes) or None,
                ),
            ),
            opts=self._child,
        )

    def _claim(self, volume: k8s.core.v1.PersistentVolume) -> k8s.core.v1.PersistentVolumeClaim:
        return k8s.core.v1.PersistentVolumeClaim(
            f"{self._name}-claim",
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=contract.VOLUME_CLAIM, namespace=self._args.namespace
            ),
            spec=k8s.core.v1.PersistentVolumeClaimSpecArgs(
                access_modes=["ReadWriteMany"],
                storage_class_name="",
                volume_name=volume.id,  # outside namespaces the id is the name
                resources=k8s.core.v1.VolumeResourceRequirementsArgs(requests={"storage": SIZE}),
            ),
            opts=self._child,
        )

    def _pod(self) -> k8s.core.v1.PodSpecArgs:
        folders = [
            f"{contract.VOLUME_MOUNT}/{folder}"
            for folder in (contract.DATA_DIR, contract.OUTPUT_DIR)
        ]
        claim = k8s.core.v1.PersistentVolumeClaimVolumeSourceArgs(
            claim_name=self.claim.metadata.name
        )
        return k8s.core.v1.PodSpecArgs(
            restart_policy="OnFailure",
            automount_service_account_token=False,
            security_context=k8s.core.v1.PodSecurityContextArgs(
                run_as_non_root=True,
                run_as_user=contract.JOB_UID,
                seccomp_profile=k8s.core.v1.SeccompProfileArgs(type="RuntimeDefault"),
            ),
            volumes=[k8s.core.v1.VolumeArgs(name="shared", persistent_volume_claim=claim)],
            containers=[
                k8s.core.v1.ContainerArgs(
                    name="folders",
                    image=self._args.image,
                    command=["python", "-c", MAKE_FOLDERS],
                    args=folders,
                    volume_mounts=[
                        k8s.core.v1.VolumeMountArgs(name="shared", mount_path=contract.VOLUME_MOUNT)
                    ],
                    resources=k8s.core.v1.ResourceRequirementsArgs(
                        requests={"cpu": "50m", "memory": "64Mi"}, limits={"memory": "128Mi"}
                    ),
                    security_context=k8s.core.v1.SecurityContextArgs(
                        allow_privilege_escalation=False,
                        read_only_root_filesystem=True,
                        capabilities=k8s.core.v1.CapabilitiesArgs(drop=["ALL"]),
                    ),
                )
            ],
        )
