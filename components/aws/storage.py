"""The shared file system: EFS, its driver, and who may mount it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from components.aws import storage_rights
from components.aws.addon import AddOn, AddOnArgs, Rights
from components.aws.reference import ClusterReference
from components.cloud import CsiVolume, Volume
from spotrain import contract

DRIVER = "efs.csi.aws.com"
NFS_PORT = 2049


@dataclass(frozen=True, kw_only=True)
class StorageShape:
    """What a stack file decides about the file system."""

    throughput: str
    backup: bool
    retain: bool
    mount_cidrs: tuple[IPv4Network, ...]


@dataclass(frozen=True, kw_only=True)
class StorageArgs:
    shape: StorageShape
    vpc_id: pulumi.Input[str]
    subnet_ids: Mapping[str, pulumi.Input[str]]
    """Zone -> private subnet."""
    cluster: ClusterReference
    node_security_group_id: pulumi.Input[str]
    driver_version: str | None
    after: Sequence[pulumi.Resource]
    """Nodes, and DNS on them: the driver's controller is a pod."""
    tags: Mapping[str, str]


class Storage(pulumi.ComponentResource):
    """An encrypted EFS with a mount target per zone, an access point for the shared tree, and the
    CSI driver, which can use this file system and no other."""

    volume: Volume
    storage_class: str = "efs"
    mount_command: pulumi.Output[str]
    """How a development box mounts it."""
    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: StorageArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:Storage", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        # Data outlives a stack that says so; what only leads to the data does not.
        self._data = pulumi.ResourceOptions(parent=self, retain_on_delete=args.shape.retain)
        files = self._file_system()
        targets = self._mount_targets(files)
        point = self._access_point(files)
        driver = self._driver(files)
        self.volume = Volume(
            claim=contract.VOLUME_CLAIM,
            mount=contract.VOLUME_MOUNT,
            folders=(contract.DATA_DIR, contract.OUTPUT_DIR),
            source=CsiVolume(
                driver=DRIVER,
                handle=pulumi.Output.concat(files.id, "::", point.id),
                mount_options=("tls",),
            ),
        )
        self._storage_class(files)
        self.mount_command = pulumi.Output.concat(
            "sudo mount -t efs -o tls,accesspoint=", point.id, " ", files.id, ":/ /mnt/efs"
        )
        self.ready = (*targets, driver)
        self.register_outputs({"mount_command": self.mount_command})

    def _file_system(self) -> aws.efs.FileSystem:
        args, tags = self._args, dict(self._args.tags)
        key = aws.kms.Key(
            f"{self._name}-key",
            description="Encryption of the shared file system",
            enable_key_rotation=True,
            deletion_window_in_days=30,  # without its key the data is gone
            tags=tags,
            opts=self._data,
        )
        files = aws.efs.FileSystem(
            f"{self._name}-files",
            encrypted=True,
            kms_key_id=key.arn,
            throughput_mode=args.shape.throughput,
            lifecycle_policies=[
                aws.efs.FileSystemLifecyclePolicyArgs(transition_to_ia="AFTER_30_DAYS"),
                aws.efs.FileSystemLifecyclePolicyArgs(
                    transition_to_primary_storage_class="AFTER_1_ACCESS"
                ),
            ],
            tags={**tags, "Name": f"{tags['stack']}-shared"},
            opts=self._data,
        )
        aws.efs.BackupPolicy(
            f"{self._name}-backup",
            file_system_id=files.id,
            backup_policy=aws.efs.BackupPolicyBackupPolicyArgs(
                status="ENABLED" if args.shape.backup else "DISABLED"
            ),
            opts=self._data,
        )
        aws.efs.FileSystemPolicy(
            f"{self._name}-encrypted-in-transit",
            file_system_id=files.id,
            policy=storage_rights.mount_policy(files.arn),
            opts=self._data,
        )
        return files

    def _mount_targets(self, files: aws.efs.FileSystem) -> list[pulumi.Resource]:
        group = aws.ec2.SecurityGroup(
            f"{self._name}-mount",
            description="Who may mount the shared file system",
            vpc_id=self._args.vpc_id,
            tags={**self._args.tags, "Name": f"{self._args.tags['stack']}-efs"},
            opts=self._child,
        )
        rules = [self._admit("nodes", group, source=self._args.node_security_group_id)]
        rules += [
            self._admit(str(block), group, block=block) for block in self._args.shape.mount_cidrs
        ]
        targets = [
            aws.efs.MountTarget(
                f"{self._name}-{zone}",
                file_system_id=files.id,
                subnet_id=subnet,
                security_groups=[group.id],
                opts=self._child,
            )
            for zone, subnet in self._args.subnet_ids.items()
        ]
        return [*rules, *targets]

    def _admit(
        self,
        who: str,
        group: aws.ec2.SecurityGroup,
        *,
        source: pulumi.Input[str] | None = None,
        block: IPv4Network | None = None,
    ) -> aws.vpc.SecurityGroupIngressRule:
        return aws.vpc.SecurityGroupIngressRule(
            f"{self._name}-from-{who.replace('/', '-')}",
            security_group_id=group.id,
            description="NFS",
            referenced_security_group_id=source,
            cidr_ipv4=str(block) if block else None,
            ip_protocol="tcp",
            from_port=NFS_PORT,
            to_port=NFS_PORT,
            tags=dict(self._args.tags),
            opts=self._child,
        )

    def _access_point(self, files: aws.efs.FileSystem) -> aws.efs.AccessPoint:
        # The access point lends its user to whoever mounts, so that images with other users, root
        # among them, read and write all the same.
        owner = contract.JOB_UID
        return aws.efs.AccessPoint(
            f"{self._name}-shared",
            file_system_id=files.id,
            posix_user=aws.efs.AccessPointPosixUserArgs(uid=owner, gid=owner),
            root_directory=aws.efs.AccessPointRootDirectoryArgs(
                path="/shared",
                creation_info=aws.efs.AccessPointRootDirectoryCreationInfoArgs(
                    owner_uid=owner, owner_gid=owner, permissions="0775"
                ),
            ),
            tags={**self._args.tags, "Name": f"{self._args.tags['stack']}-shared"},
            opts=self._child,
        )

    def _driver(self, files: aws.efs.FileSystem) -> aws.eks.Addon:
        rights = storage_rights.driver_statements(files.arn)
        return AddOn(
            f"{self._name}-driver",
            AddOnArgs(
                addon="aws-efs-csi-driver",
                version=self._args.driver_version,
                cluster=self._args.cluster,
                rights={account: Rights(statements=may) for account, may in rights.items()},
                after=self._args.after,
                tags=self._args.tags,
            ),
            self._child,
        ).addon

    def _storage_class(self, files: aws.efs.FileSystem) -> k8s.storage.v1.StorageClass:
        """Volumes of their own on the same file system, each an access point below /volumes."""
        return k8s.storage.v1.StorageClass(
            f"{self._name}-class",
            metadata=k8s.meta.v1.ObjectMetaArgs(name=self.storage_class),
            provisioner=DRIVER,
            parameters={
                "provisioningMode": "efs-ap",
                "fileSystemId": files.id,
                "directoryPerms": "0770",
                "basePath": "/volumes",
            },
            mount_options=["tls"],
            opts=pulumi.ResourceOptions(parent=self, provider=self._args.cluster.kubernetes),
        )
