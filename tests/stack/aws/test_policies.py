"""IAM policies name actions, resources and conditions that AWS knows: cfn-lint judges each one."""

import json
from typing import Any

import pytest
from cfnlint.api import lint_all

from stacks.pages.stacks import QUARRY, recording_of

Resource = dict[str, Any]
Holder = tuple[str, str, dict[str, Any]]
HOLDERS: dict[str, Holder] = {
    "aws:iam/role:Role": ("AWS::IAM::Role", "AssumeRolePolicyDocument", {}),
    "aws:efs/fileSystemPolicy:FileSystemPolicy": ("AWS::EFS::FileSystem", "FileSystemPolicy", {}),
    "aws:s3/bucketPolicy:BucketPolicy": (
        "AWS::S3::BucketPolicy",
        "PolicyDocument",
        {"Bucket": "b"},
    ),
    "aws:sns/topicPolicy:TopicPolicy": ("AWS::SNS::TopicPolicy", "PolicyDocument", {"Topics": []}),
    "aws:kms/key:Key": ("AWS::KMS::Key", "KeyPolicy", {}),
}
"""Type -> what holds such a policy in CloudFormation; any other holds the rights of an identity."""
IDENTITY: Holder = ("AWS::IAM::ManagedPolicy", "PolicyDocument", {})


def holder(kind: str, policy: dict[str, Any]) -> Resource:
    name, key, more = HOLDERS.get(kind, IDENTITY)
    return {"Type": name, "Properties": {key: policy, **more}}


def policies() -> dict[str, Resource]:
    """Every policy document of a stack with every option on, by where it stands."""
    return {
        f"{resource.name}.{key}": holder(resource.type, json.loads(value))
        for resource in recording_of(QUARRY.stem).resources
        for key, value in resource.inputs.items()
        if isinstance(value, str) and value.startswith("{") and '"Statement"' in value
    }


def findings(resources: dict[str, Resource]) -> list[str]:
    """What cfn-lint says of policies: errors and warnings, not its advice on style."""
    names = {f"Policy{index}": name for index, name in enumerate(resources)}
    template = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Resources": dict(zip(names, resources.values(), strict=True)),
    }
    matches = [m for m in lint_all(json.dumps(template)) if m.rule.id[0] in "EW"]
    return [f"{names.get(str((m.path or ['', ''])[1]))}: {m.rule.id} {m.message}" for m in matches]


def test_aws_knows_everything_that_a_policy_names() -> None:
    judged = policies()
    assert len(judged) >= 12
    assert findings(judged) == []


@pytest.mark.parametrize("action", ["eks:DescribeNodegroups", "elasticfilesytem:ClientMount"])
def test_a_misspelled_action_is_noticed(action: str) -> None:
    statement = {"Effect": "Allow", "Action": [action], "Resource": ["*"]}
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    assert findings({"wrong": holder("", policy)}) != []
