"""What jobs read and write: the shared file system, the way to it, its driver, and a bucket."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
import pulumi_aws as aws

from components.aws.addons.addon import AddOn, AddOnArgs, Rights
from components.aws.reference import ClusterReference
from components.aws.storage import storage_rights
from components.aws.storage.bucket_mount import BucketMount, BucketMountArgs, BucketShape
from components.aws.storage.efs_class import DRIVER, EfsClass, EfsClassArgs
from components.aws.storage.mount_targets import MountTargets, MountTargetsArgs
from components.aws.storage.shared_files import SharedFiles, SharedFilesArgs
from components.cloud import CsiVolume, Volume
from spotrain import contract

OWNER = contract.JOB_UID

DRIVER_SETTINGS = {
    # By default its controller asks for 1.2 CPUs, more than a quarter of a small stack's managers,
    # to make an access point now and then.
    "controller": {
        "resources": {
            "requests": {"cpu": "20m", "memory": "64Mi"},
            "limits": {"memory": "256Mi"},
        }
    }
}


@dataclass(frozen=True, kw_only=True)
class StorageShape:
    """What a stack file decides; see SharedFilesArgs, MountTargetsArgs."""

    file_system_arn: str | None
    throughput: str
    backup_days: int | None
    retain: bool
    mount_cidrs: tuple[IPv4Network, ...]
    mount_security_groups: tuple[str, ...]
    bucket: BucketShape | None


@dataclass(frozen=True, kw_only=True)
class StorageArgs:
    shape: StorageShape
    vpc_id: pulumi.Input[str]
    subnet_ids: Mapping[str, pulumi.Input[str]]
    """Zone -> private subnet."""
    cluster: ClusterReference
    node_security_group_id: pulumi.Input[str]
    addon_versions: Mapping[str, str]
    """Add-on -> version; EKS chooses for one that is not here."""
    after: Sequence[pulumi.Resource]
    """Nodes, and DNS on them: the drivers' controllers are pods."""
    tags: Mapping[str, str]


class Storage(pulumi.ComponentResource):
    """An encrypted EFS with a mount target per zone, an access point for the shared tree, one for
    the archive, and the CSI driver, which can use this file system and no other; on request, a
    bucket beside it.

    Where data is retained, only what leads to it goes with the stack, so that a destroy ends: mount
    targets, driver, and the access points, whose folders the next stack's access points find again.
    """

    volumes: tuple[Volume, ...]
    """The shared one first."""
    archive: Volume
    """For what the archive keeps, on the same file system."""
    outputs: Mapping[str, pulumi.Output[str]]
    """What a person needs to know."""
    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: StorageArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:Storage", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        files = self._files()
        targets = self._mount_targets(files)
        point = self._access_point(files, "shared", permissions="0775")
        archive = self._access_point(files, "archive", permissions="0700")
        driver = self._driver(files)
        EfsClass(
            f"{name}-class",
            EfsClassArgs(file_system_id=files.id, kubernetes=args.cluster.kubernetes),
            self._child,
        )
        shared = Volume(
            claim=contract.VOLUME_CLAIM,
            mount=contract.VOLUME_MOUNT,
            folders=(contract.DATA_DIR, contract.OUTPUT_DIR),
            source=CsiVolume(
                driver=DRIVER,
                handle=pulumi.Output.concat(files.id, "::", point.id),
                mount_options=("tls",),
            ),
        )
        self.archive = Volume(
            claim=contract.ARCHIVE_CLAIM,
            mount=contract.ARCHIVE_MOUNT,
            source=CsiVolume(
                driver=DRIVER,
                handle=pulumi.Output.concat(files.id, "::", archive.id),
                mount_options=("tls",),
            ),
        )
        outputs = {"fileSystem": files.arn}
        if args.shape.mount_cidrs or args.shape.mount_security_groups:
            outputs["mount"] = self._mount_command(files, targets, point)
        buckets = self._buckets()
        self.volumes = (shared, *(bucket.volume for bucket in buckets))
        mountable = (*files.ready, *targets.ready, driver)
        self.ready = (*mountable, *(each for b in buckets for each in b.ready))
        self.outputs = outputs | {key: out for b in buckets for key, out in b.outputs.items()}
        self.register_outputs(dict(self.outputs))

    def _files(self) -> SharedFiles:
        shape = self._args.shape
        args = SharedFilesArgs(
            file_system_arn=shape.file_system_arn,
            throughput=shape.throughput,
            backup_days=shape.backup_days,
            retain=shape.retain,
            tags=self._args.tags,
        )
        return SharedFiles(f"{self._name}-files", args, self._child)

    def _mount_targets(self, files: SharedFiles) -> MountTargets:
        args = MountTargetsArgs(
            file_system_id=files.id,
            vpc_id=self._args.vpc_id,
            subnet_ids=self._args.subnet_ids,
            node_security_group_id=self._args.node_security_group_id,
            cidrs=self._args.shape.mount_cidrs,
            security_groups=self._args.shape.mount_security_groups,
            tags=self._args.tags,
        )
        return MountTargets(f"{self._name}-mount", args, self._child)

    def _access_point(
        self, files: SharedFiles, folder: str, *, permissions: str
    ) -> aws.efs.AccessPoint:
        # The access point lends its user to whoever mounts, so that images with other users, root
        # among them, read and write all the same. Who mounts one of them cannot leave its folder.
        return aws.efs.AccessPoint(
            f"{self._name}-{folder}",
            file_system_id=files.id,
            posix_user=aws.efs.AccessPointPosixUserArgs(uid=OWNER, gid=OWNER),
            root_directory=aws.efs.AccessPointRootDirectoryArgs(
                path=f"/{folder}",
                creation_info=aws.efs.AccessPointRootDirectoryCreationInfoArgs(
                    owner_uid=OWNER, owner_gid=OWNER, permissions=permissions
                ),
            ),
            tags={**self._args.tags, "Name": f"{self._args.tags['stack']}-{folder}"},
            opts=self._child,
        )

    def _mount_command(
        self, files: SharedFiles, targets: MountTargets, point: aws.efs.AccessPoint
    ) -> pulumi.Output[str]:
        """How a development box with amazon-efs-utils mounts it.

        Address and region are told: outside the VPC nobody resolves the name of a file system, and
        outside EC2 nobody knows the region. No IAM: the policy admits whoever comes by this way.
        """
        options = pulumi.Output.concat(
            f"tls,region={self._args.cluster.region},accesspoint=",
            point.id,
            ",mounttargetip=",
            targets.address,
        )
        return pulumi.Output.format(
            "sudo mkdir -p {0} && sudo mount -t efs -o {1} {2}:/ {0}",
            contract.VOLUME_MOUNT,
            options,
            files.id,
        )

    def _driver(self, files: SharedFiles) -> aws.eks.Addon:
        rights = Rights(statements=storage_rights.driver_statements(files.arn))
        return AddOn(
            f"{self._name}-driver",
            AddOnArgs(
                addon="aws-efs-csi-driver",
                version=self._args.addon_versions.get("aws-efs-csi-driver"),
                cluster=self._args.cluster,
                configuration=DRIVER_SETTINGS,
                # The node pods get none: a mount asks AWS nothing, and EKS refuses an identity for
                # them in this add-on.
                rights={storage_rights.CONTROLLER_ACCOUNT: rights},
                after=self._args.after,
                tags=self._args.tags,
            ),
            self._child,
        ).addon

    def _buckets(self) -> list[BucketMount]:
        """None, or the one that is asked for."""
        args = self._args
        if args.shape.bucket is None:
            return []
        mount = BucketMountArgs(
            shape=args.shape.bucket,
            cluster=args.cluster,
            driver_version=args.addon_versions.get("aws-mountpoint-s3-csi-driver"),
            after=args.after,
            tags=args.tags,
        )
        return [BucketMount(f"{self._name}-bucket", mount, self._child)]
