"""The data itself: the file system, its key, who may mount it, and its backups."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws.storage import storage_rights
from components.aws.storage.backup import Backup, BackupArgs


@dataclass(frozen=True, kw_only=True)
class SharedFilesArgs:
    file_system_arn: str | None
    """One that exists already, and stays whatever becomes of the stack; None: a new one."""
    throughput: str
    """Of a new one."""
    backup_days: int | None
    """How long daily backups are kept; None: there are none."""
    retain: bool
    """Whether the data outlives the stack. If not, it is deleted with it, backups and all."""
    tags: Mapping[str, str]


class SharedFiles(pulumi.ComponentResource):
    """An EFS, encrypted at rest and on the way.

    Retained are the file system, its key, the policy that guards it, and its backups: a guard that
    went with the stack would leave the data open to the next one who reaches it, and a key that
    went would leave nothing.
    """

    id: pulumi.Output[str]
    arn: pulumi.Output[str]
    ready: tuple[pulumi.Resource, ...]
    """Whoever mounts it from now on is admitted by our policy; without one, EFS admits everybody
    who reaches it, as root."""

    def __init__(
        self, name: str, args: SharedFilesArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:SharedFiles", name, {}, opts)
        self._name, self._args = name, args
        stays = args.retain or args.file_system_arn is not None
        self._child = pulumi.ResourceOptions(parent=self)
        self._kept = pulumi.ResourceOptions(parent=self, retain_on_delete=stays)
        if args.file_system_arn:
            self.arn = pulumi.Output.from_input(args.file_system_arn)
            self.id = pulumi.Output.from_input(id_in(args.file_system_arn))
        else:
            made = self._new()
            self.arn, self.id = made.arn, made.id
        policy = aws.efs.FileSystemPolicy(
            f"{name}-encrypted-in-transit",
            file_system_id=self.id,
            policy=storage_rights.mount_policy(self.arn),
            opts=self._kept,
        )
        self.ready = (policy,)
        self._backups()
        self.register_outputs({"id": self.id, "arn": self.arn})

    def _new(self) -> aws.efs.FileSystem:
        tags = dict(self._args.tags)
        key = aws.kms.Key(
            f"{self._name}-key",
            description="Encryption of the shared file system",
            enable_key_rotation=True,
            deletion_window_in_days=30,  # without its key the data is gone
            tags=tags,
            opts=self._kept,
        )
        return aws.efs.FileSystem(
            f"{self._name}-efs",
            encrypted=True,
            kms_key_id=key.arn,
            throughput_mode=self._args.throughput,
            lifecycle_policies=[
                aws.efs.FileSystemLifecyclePolicyArgs(transition_to_ia="AFTER_30_DAYS"),
                aws.efs.FileSystemLifecyclePolicyArgs(
                    transition_to_primary_storage_class="AFTER_1_ACCESS"
                ),
            ],
            tags={**tags, "Name": f"{tags['stack']}-shared"},
            opts=self._kept,
        )

    def _backups(self) -> None:
        args = self._args
        aws.efs.BackupPolicy(
            f"{self._name}-automatic-backup",
            file_system_id=self.id,
            # AWS's own plan keeps what it likes where it likes, and would be billed beside ours.
            backup_policy=aws.efs.BackupPolicyBackupPolicyArgs(status="DISABLED"),
            opts=self._child,
        )
        if args.backup_days is not None:
            backup = BackupArgs(
                file_system_arn=self.arn,
                days=args.backup_days,
                retain=args.retain,
                tags=args.tags,
            )
            Backup(f"{self._name}-backup", backup, self._child)


def id_in(arn: str) -> str:
    """arn:aws:elasticfilesystem:us-east-1:123456789012:file-system/fs-0123 -> fs-0123"""
    return arn.rsplit("/", 1)[1]
