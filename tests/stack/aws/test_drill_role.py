"""Who may interrupt spot nodes, and whose."""

import json
from collections.abc import Mapping
from typing import Any

import pulumi

from components.aws.drill_role import DrillRole, DrillRoleArgs
from stacks.aws.build import aws_args
from stacks.aws.schema import AwsSettings
from stacks.pages.stacks import QUARRY, recording_of
from stacks.schema import parse
from stacks.stack_file import read_config, stack_names

ACCOUNT, REGION = "123456789012", "us-east-1"
CLUSTER = f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/dev"
GROUPS = ("eks-gpu-t4-a", "eks-gpu-t4-b")


def test_the_fault_injection_service_of_this_account_interrupts_spot_nodes_and_nothing_else(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    def program() -> None:
        groups = [pulumi.Output.from_input(group) for group in GROUPS]
        account = pulumi.Output.from_input(ACCOUNT)
        args = DrillRoleArgs(
            region=REGION,
            account=account,
            cluster_arn=pulumi.Output.from_input(CLUSTER),
            spot_groups=groups,
            tags=tags,
        )
        DrillRole("drill", args)

    made = build(program)
    (right,) = find.policies(made)["drill-policy.policy"]["Statement"]
    assert right == {
        "Effect": "Allow",
        "Action": ["ec2:SendSpotInstanceInterruptions"],
        "Resource": [f"arn:aws:ec2:{REGION}:{ACCOUNT}:instance/*"],
        "Condition": {"StringEquals": {"aws:ResourceTag/aws:autoscaling:groupName": list(GROUPS)}},
    }
    role = find.one(made, "aws:iam/role:Role")
    (trust,) = json.loads(role.inputs["assumeRolePolicy"])["Statement"]
    assert trust["Principal"] == {"Service": "fis.amazonaws.com"}
    assert trust["Condition"] == {
        "StringEquals": {"aws:SourceAccount": ACCOUNT},
        "ArnLike": {"aws:SourceArn": f"arn:aws:fis:{REGION}:{ACCOUNT}:experiment/*"},
    }


def test_nodes_on_demand_are_none_of_it() -> None:
    """The quarry has a pool with a twin on demand, which EC2 never takes back."""
    recording = recording_of(QUARRY.stem)
    (policy,) = (r for r in recording.resources if r.name == "drill-policy")
    (right,) = json.loads(policy.inputs["policy"])["Statement"]
    (groups,) = right["Condition"]["StringEquals"].values()
    assert groups
    assert not [group for group in groups if "on-demand" in group]
    assert len(groups) == len(set(groups))


def test_there_is_no_such_role_unless_somebody_asks_for_it(tags: Mapping[str, str]) -> None:
    for stack in stack_names():
        if read_config(stack)["settings"]["cloud"] == "aws":
            assert "drillRole" not in recording_of(stack).outputs
    for asked in (False, True):
        settings = parse({**read_config("dev")["settings"], "drills": asked}, source="dev")
        assert isinstance(settings, AwsSettings)
        assert aws_args(settings, tags).drills is asked
