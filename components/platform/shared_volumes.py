"""The volumes of the cloud as jobs see them: claims in their namespace, with folders in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.cloud import ClassVolume, CsiVolume, HostPathVolume, NfsVolume, Volume
from components.platform.job_namespace import LONGEST_GOODBYE
from components.pod_security import confined, run_as_owner

SIZE = "1Ti"
"""Kubernetes wants a number; a file system that is there has the size that it has."""
MANY_NODES = ["ReadWriteMany"]
MAKE_FOLDERS = """\
import os, sys
for folder in sys.argv[1:]:
    try:
        os.makedirs(folder, exist_ok=True)
    except PermissionError:
        pass
    if not os.access(folder, os.W_OK):
        user = os.getuid()
        sys.exit(f"user {user} may not write to {folder}. Next: where the volume is, give the "
                 f"folder that is mounted to this user (chown {user}), then pulumi up")
"""


@dataclass(frozen=True, kw_only=True)
class SharedVolumesArgs:
    namespace: pulumi.Input[str]
    volumes: Sequence[Volume]
    image: pulumi.Input[str]
    """Any image of ours: it makes the folders."""
    kubernetes: k8s.Provider
    after: Sequence[pulumi.Resource]
    """What a pod needs to mount the volumes."""


class SharedVolumes(pulumi.ComponentResource):
    """A claim for each volume, and a Job that makes the volume's folders.

    All but a storage class's are static volumes: the data must be the same after the claim, or the
    whole cluster, was replaced.
    """

    ready: tuple[pulumi.Resource, ...]
    """A pod that mounts them finds its folders."""

    def __init__(
        self, name: str, args: SharedVolumesArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:platform:SharedVolumes", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self, provider=args.kubernetes)
        ready: list[pulumi.Resource] = []
        for volume in args.volumes:
            claim = self._claim(volume)
            ready.append(self._folders(volume, claim) if volume.folders else claim)
        self.ready = tuple(ready)
        self.register_outputs({})

    def _claim(self, volume: Volume) -> k8s.core.v1.PersistentVolumeClaim:
        made: pulumi.Output[str] | None = None
        if isinstance(volume.source, ClassVolume):
            storage_class, size = volume.source.storage_class, f"{volume.source.size_gib}Gi"
        else:
            storage_class, size = "", SIZE
            # Outside namespaces the id is the name.
            made = self._static_volume(volume, volume.source).id
        return k8s.core.v1.PersistentVolumeClaim(
            f"{self._name}-claim-{volume.claim}",
            metadata=k8s.meta.v1.ObjectMetaArgs(name=volume.claim, namespace=self._args.namespace),
            spec=k8s.core.v1.PersistentVolumeClaimSpecArgs(
                access_modes=MANY_NODES,
                storage_class_name=storage_class,
                volume_name=made,
                resources=k8s.core.v1.VolumeResourceRequirementsArgs(requests={"storage": size}),
            ),
            opts=pulumi.ResourceOptions.merge(
                self._child,
                # It stays until the last pod that mounts it has stopped.
                pulumi.ResourceOptions(
                    custom_timeouts=pulumi.CustomTimeouts(delete=LONGEST_GOODBYE)
                ),
            ),
        )

    def _static_volume(
        self, volume: Volume, source: CsiVolume | NfsVolume | HostPathVolume
    ) -> k8s.core.v1.PersistentVolume:
        # A volume remembers the claim that it was bound to, and binds to no other: where that
        # moves to another namespace, the volume is made anew. What is on it stays as it is.
        anew = pulumi.ResourceOptions(replace_on_changes=["spec.claimRef"])
        return k8s.core.v1.PersistentVolume(
            f"{self._name}-volume-{volume.claim}",
            spec=k8s.core.v1.PersistentVolumeSpecArgs(
                capacity={"storage": SIZE},
                access_modes=MANY_NODES,
                persistent_volume_reclaim_policy="Retain",
                storage_class_name="",  # no class makes another one in its place
                claim_ref=k8s.core.v1.ObjectReferenceArgs(
                    api_version="v1",
                    kind="PersistentVolumeClaim",
                    name=volume.claim,
                    namespace=self._args.namespace,
                ),
                **mounted(source),
            ),
            opts=pulumi.ResourceOptions.merge(self._child, anew),
        )

    def _folders(
        self, volume: Volume, claim: k8s.core.v1.PersistentVolumeClaim
    ) -> k8s.batch.v1.Job:
        return k8s.batch.v1.Job(
            f"{self._name}-folders-{volume.claim}",
            metadata=k8s.meta.v1.ObjectMetaArgs(
                namespace=self._args.namespace,
                # A Job that has failed stays so; this lets the next `pulumi up` try another one.
                annotations={"pulumi.com/replaceUnready": "true"},
            ),
            # Without a time to live: Pulumi would make a Job that is gone again and again.
            spec=k8s.batch.v1.JobSpecArgs(
                backoff_limit=3,
                template=k8s.core.v1.PodTemplateSpecArgs(spec=self._pod(volume, claim)),
            ),
            opts=pulumi.ResourceOptions.merge(
                self._child, pulumi.ResourceOptions(depends_on=list(self._args.after))
            ),
        )

    def _pod(
        self, volume: Volume, claim: k8s.core.v1.PersistentVolumeClaim
    ) -> k8s.core.v1.PodSpecArgs:
        """Runs as the user that must be able to write: root could make the folders on some volumes,
        but a file server that squashes root refuses just that, and so does the restricted standard.
        """
        mount = k8s.core.v1.VolumeMountArgs(name="shared", mount_path=volume.mount)
        source = k8s.core.v1.PersistentVolumeClaimVolumeSourceArgs(claim_name=claim.metadata.name)
        return k8s.core.v1.PodSpecArgs(
            restart_policy="Never",  # what failed can then still be read
            automount_service_account_token=False,
            security_context=run_as_owner(),
            volumes=[k8s.core.v1.VolumeArgs(name="shared", persistent_volume_claim=source)],
            containers=[
                k8s.core.v1.ContainerArgs(
                    name="folders",
                    image=self._args.image,
                    command=["python3", "-c", MAKE_FOLDERS],
                    args=[f"{volume.mount}/{folder}" for folder in volume.folders],
                    termination_message_policy="FallbackToLogsOnError",
                    volume_mounts=[mount],
                    resources=k8s.core.v1.ResourceRequirementsArgs(
                        requests={"cpu": "50m", "memory": "64Mi"}, limits={"memory": "128Mi"}
                    ),
                    security_context=confined(),
                )
            ],
        )


def mounted(source: CsiVolume | NfsVolume | HostPathVolume) -> dict[str, Any]:
    """What a PersistentVolume says of its source."""
    match source:
        case CsiVolume():
            csi = k8s.core.v1.CSIPersistentVolumeSourceArgs(
                driver=source.driver,
                volume_handle=source.handle,
                volume_attributes=dict(source.attributes) or None,
                fs_type=source.fs_type,
            )
            return {"csi": csi, "mount_options": list(source.mount_options) or None}
        case NfsVolume():
            nfs = k8s.core.v1.NFSVolumeSourceArgs(server=source.server, path=source.path)
            return {"nfs": nfs}
        case HostPathVolume():
            # Made where it is missing; the Job then says that it must be writable.
            folder = k8s.core.v1.HostPathVolumeSourceArgs(
                path=source.path, type="DirectoryOrCreate"
            )
            return {"host_path": folder}
