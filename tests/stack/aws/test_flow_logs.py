"""The record of connections, as a component by itself."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from components.aws.network.flow_logs import FlowLogs, FlowLogsArgs
from stacks.recorder import Recording

FLOW, GROUP = "aws:ec2/flowLog:FlowLog", "aws:cloudwatch/logGroup:LogGroup"
ROLE, RIGHTS = "aws:iam/role:Role", "aws:iam/rolePolicy:RolePolicy"


@pytest.fixture
def recording(build: Any, tags: Mapping[str, str]) -> Recording:
    args = FlowLogsArgs(
        region="eu-west-1", vpc_id="vpc", account="123456789012", days=365, tags=tags
    )
    made: Recording = build(lambda: FlowLogs("records", args))
    return made


def test_accepted_and_refused_connections_are_kept_as_long_as_asked(
    recording: Recording, find: Any
) -> None:
    flow, group = find.one(recording, FLOW).inputs, find.one(recording, GROUP)
    assert (flow["vpcId"], flow["trafficType"]) == ("vpc", "ALL")
    assert flow["logDestination"].endswith(f":{group.name}")
    assert group.inputs["retentionInDays"] == 365


def test_only_flow_logs_of_this_account_and_region_may_write(
    recording: Recording, find: Any
) -> None:
    (statement,) = json.loads(find.one(recording, ROLE).inputs["assumeRolePolicy"])["Statement"]
    assert statement["Principal"] == {"Service": "vpc-flow-logs.amazonaws.com"}
    assert statement["Condition"] == {
        "StringEquals": {"aws:SourceAccount": "123456789012"},
        "ArnLike": {"aws:SourceArn": "arn:aws:ec2:eu-west-1:123456789012:vpc-flow-log/*"},
    }


def test_they_may_write_to_one_log_group_and_make_none(recording: Recording, find: Any) -> None:
    (statement,) = json.loads(find.one(recording, RIGHTS).inputs["policy"])["Statement"]
    group = find.one(recording, FLOW).inputs["logDestination"]
    assert statement["Resource"] == [group, f"{group}:*"]
    assert "logs:PutLogEvents" in statement["Action"]
    assert "logs:CreateLogGroup" not in statement["Action"]


def test_the_first_record_finds_its_rights(recording: Recording, find: Any) -> None:
    flow = find.one(recording, FLOW)
    assert any(urn.endswith("::records-write") for urn in flow.depends_on)
