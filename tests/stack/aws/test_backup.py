"""Backups of the file system, as a component by itself."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from components.aws.storage.backup import Backup, BackupArgs
from stacks.recorder import Recording

VAULT = "aws:backup/vault:Vault"
FILES = "arn:aws:elasticfilesystem:us-east-1:123456789012:file-system/fs-1"


def backup(build: Any, tags: Mapping[str, str], *, retain: bool = False) -> Recording:
    args = BackupArgs(file_system_arn=FILES, days=14, retain=retain, tags=tags)
    recording: Recording = build(lambda: Backup("backup", args))
    return recording


def test_one_file_system_is_copied_every_night_and_a_copy_goes_in_time(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    recording = backup(build, tags)
    assert find.one(recording, "aws:backup/selection:Selection").inputs["resources"] == [FILES]
    (rule,) = find.one(recording, "aws:backup/plan:Plan").inputs["rules"]
    assert rule["schedule"] == "cron(0 5 ? * * *)"
    assert rule["lifecycle"] == {"deleteAfter": 14}


def test_a_first_backup_may_take_days(build: Any, tags: Mapping[str, str], find: Any) -> None:
    (rule,) = find.one(backup(build, tags), "aws:backup/plan:Plan").inputs["rules"]
    assert rule["completionWindow"] == 7 * 24 * 60
    assert rule["completionWindow"] > rule["startWindow"]


def test_the_backups_survive_the_loss_of_the_file_systems_key(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    recording = backup(build, tags)
    vault = find.one(recording, VAULT).inputs
    assert vault["kmsKeyArn"].endswith(":backup-key")
    assert find.one(recording, "aws:kms/key:Key").inputs["enableKeyRotation"] is True


@pytest.mark.parametrize("retain", [True, False])
def test_a_vault_that_goes_takes_what_is_in_it_along_and_one_that_stays_does_not(
    build: Any, tags: Mapping[str, str], find: Any, retain: bool
) -> None:
    vault = find.one(backup(build, tags, retain=retain), VAULT)
    assert vault.inputs["forceDestroy"] is not retain
    assert vault.retain_on_delete is retain


def test_the_vault_is_emptied_while_its_role_is_there(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    vault = find.one(backup(build, tags), VAULT)
    assert any(urn.endswith("RolePolicyAttachment::backup-backup") for urn in vault.depends_on)


def test_only_aws_backup_is_the_role_and_may_back_up_but_not_restore(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    recording = backup(build, tags)
    role = find.one(recording, "aws:iam/role:Role").inputs
    (trust,) = json.loads(role["assumeRolePolicy"])["Statement"]
    assert trust["Principal"] == {"Service": "backup.amazonaws.com"}
    rights = find.one(recording, "aws:iam/rolePolicyAttachment:RolePolicyAttachment").inputs
    assert rights["policyArn"].endswith("/AWSBackupServiceRolePolicyForBackup")
