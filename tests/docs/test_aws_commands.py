"""Every AWS command of the pages is one that AWS's models know."""

import shlex

import pytest

from tests.docs.aws_models import faults
from tests.docs.pages import Command, commands

COMMANDS = commands("aws")
WORLDWIDE = {"iam", "sts", "ce", "s3"}
"""Services that have no region, or find it by themselves."""


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_command_is_one_that_aws_knows(command: Command) -> None:
    assert list(faults(command.words)) == []


def test_there_are_commands_to_judge() -> None:
    assert len(COMMANDS) > 30


def test_operations_are_about_the_region_of_the_stack_and_no_other() -> None:
    """Whoever reads them in a hurry has another region in the profile."""
    silent = [
        str(command)
        for command in COMMANDS
        if command.page == "docs/operations.md"
        and command.words[1] not in WORLDWIDE
        and len(command.words) > 3
        and "--region" not in command.words
    ]
    assert silent == []


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("aws eks describe-clusters --name x", "no operation"),
        ("aws ec3 describe-subnets", "no service"),
        ("aws ec2 describe-subnets --filter Name=vpc-id,Values=x", "no option --filter"),
        ("aws eks describe-addon --cluster-name x --addon coredns", "no option --addon"),
        ("aws eks describe-addon --cluster-name x", "needs --addon-name"),
        ("aws eks describe-cluster --name x --query cluster.state", "Cluster has no state"),
        ("aws eks list-updates --name x --query 'updates[].id'", "has no updates"),
        (
            "aws ec2 describe-instance-type-offerings --query 'InstanceTypeOfferings[].[Zone]'",
            "InstanceTypeOffering has no Zone",
        ),
        (
            "aws ec2 describe-instance-type-offerings --location-type zone",
            "--location-type is none of",
        ),
    ],
)
def test_a_mistake_is_noticed(line: str, fault: str) -> None:
    assert any(fault in found for found in faults(shlex.split(line)))
