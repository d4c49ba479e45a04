"""Daily backups of the shared file system."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws import policies

MAY_BACK_UP = "arn:aws:iam::aws:policy/service-role/AWSBackupServiceRolePolicyForBackup"
EVERY_NIGHT = "cron(0 5 ? * * *)"
"""At five, UTC."""
START_MINUTES = 8 * 60
COMPLETE_MINUTES = 7 * 24 * 60
"""The first backup copies everything. What the provider would say, three hours, ends it half-way
where there is much to copy, every night anew; this is what AWS itself says."""


@dataclass(frozen=True, kw_only=True)
class BackupArgs:
    file_system_arn: pulumi.Input[str]
    days: int
    """How long a backup is kept."""
    retain: bool
    """Whether the backups outlive the stack. If not, they are deleted with it, all of them."""
    tags: Mapping[str, str]


class Backup(pulumi.ComponentResource):
    """A vault that is filled every night, each backup with what changed since the one before.

    The vault has a key of its own: a backup that needs the key of what it is a copy of is lost
    with it. The role may back up and nothing else; who restores brings a role for that. What
    retains the backups retains their role: AWS deletes old backups in its name, and without it
    bills for them for ever.
    """

    def __init__(
        self, name: str, args: BackupArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:Backup", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        self._kept = pulumi.ResourceOptions(parent=self, retain_on_delete=args.retain)
        role = aws.iam.Role(
            f"{name}-role",
            assume_role_policy=policies.service_trust("backup.amazonaws.com"),
            tags=dict(args.tags),
            opts=self._kept,
        )
        right = aws.iam.RolePolicyAttachment(
            f"{name}-backup", role=role.name, policy_arn=MAY_BACK_UP, opts=self._kept
        )
        vault = self._vault(right)
        aws.backup.Selection(
            f"{name}-files",
            plan_id=self._plan(vault).id,
            iam_role_arn=role.arn,
            resources=[args.file_system_arn],
            opts=self._child,
        )
        self.register_outputs({})

    def _vault(self, right: pulumi.Resource) -> aws.backup.Vault:
        tags = dict(self._args.tags)
        key = aws.kms.Key(
            f"{self._name}-key",
            description="Encryption of the backups of the shared file system",
            enable_key_rotation=True,
            deletion_window_in_days=30,  # without its key the data is gone
            tags=tags,
            opts=self._kept,
        )
        return aws.backup.Vault(
            f"{self._name}-vault",
            kms_key_arn=key.arn,
            force_destroy=not self._args.retain,  # AWS deletes no vault with something in it
            tags=tags,
            opts=pulumi.ResourceOptions.merge(
                # What is in it is deleted in the name of the role, so the role goes last.
                self._kept,
                pulumi.ResourceOptions(depends_on=[right]),
            ),
        )

    def _plan(self, vault: aws.backup.Vault) -> aws.backup.Plan:
        tags = dict(self._args.tags)
        rule = aws.backup.PlanRuleArgs(
            rule_name="daily",
            target_vault_name=vault.name,
            schedule=EVERY_NIGHT,
            start_window=START_MINUTES,
            completion_window=COMPLETE_MINUTES,
            lifecycle=aws.backup.PlanRuleLifecycleArgs(delete_after=self._args.days),
            recovery_point_tags=tags,
        )
        return aws.backup.Plan(f"{self._name}-plan", rules=[rule], tags=tags, opts=self._child)
