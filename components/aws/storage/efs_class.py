"""The storage class of the shared file system."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from spotrain import contract

DRIVER = "efs.csi.aws.com"
NAME = "efs"
"""What a claim asks for."""


@dataclass(frozen=True, kw_only=True)
class EfsClassArgs:
    file_system_id: pulumi.Input[str]
    kubernetes: k8s.Provider


class EfsClass(pulumi.ComponentResource):
    """Volumes of their own on the same file system: each is an access point below /volumes that
    lends the jobs' user to whoever mounts it.

    A claim that is deleted takes its access point along; the folder stays, with what is in it.
    """

    def __init__(
        self, name: str, args: EfsClassArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:EfsClass", name, {}, opts)
        k8s.storage.v1.StorageClass(
            f"{name}-{NAME}",
            metadata=k8s.meta.v1.ObjectMetaArgs(name=NAME),
            provisioner=DRIVER,
            parameters={
                "provisioningMode": "efs-ap",
                "fileSystemId": args.file_system_id,
                "uid": str(contract.JOB_UID),
                "gid": str(contract.JOB_UID),
                "directoryPerms": "0770",
                "basePath": "/volumes",
            },
            mount_options=["tls"],
            opts=pulumi.ResourceOptions(parent=self, provider=args.kubernetes),
        )
        self.register_outputs({})
