"""A wrong value is answered with what to write instead, and with nothing beside it."""

import copy
from typing import Any

import pytest
import yaml

from stacks import schema
from stacks.aws.instances import gpu_catalog
from stacks.problems import Problem, SettingsError
from stacks.stack_file import STACKS

SHIPPED = yaml.safe_load((STACKS / "Pulumi.dev.yaml").read_text())["config"]["spotrain:settings"]


def refused(path: str, written: str) -> tuple[Problem, ...]:
    """What the dev stack with this one value, as YAML, is told."""
    document: Any = copy.deepcopy(SHIPPED)
    *sections, name = path.split(".")
    place = document
    for part in sections:
        place = place[int(part)] if part.isdigit() else place.setdefault(part, {})
    place[name] = yaml.safe_load(written)
    with pytest.raises(SettingsError) as error:
        schema.parse(document, source="stacks/Pulumi.test.yaml")
    return error.value.problems


def the_only(path: str, written: str) -> Problem:
    (problem,) = refused(path, written)
    assert "Input should" not in str(problem)
    assert "Tuple" not in str(problem)
    return problem


@pytest.mark.parametrize(
    ("name", "written"),
    [("max_nodes", "eight"), ("max_nodes", "-1"), ("gpu", "T4"), ("max_node", "8")],
)
def test_a_mistake_in_a_pool_is_one_problem(name: str, written: str) -> None:
    assert the_only(f"pools.0.{name}", written).path == f"pools[0].{name}"


GPUS = sorted({instance.gpu for instance in gpu_catalog().types.values()})
DIGEST = "an image reference that ends in @sha256:<64 hex digits>"
CIDRS = "network.api_access.cidrs"
DAYS = "1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731"
DOLLARS = "above 0, at most 10,000,000"
TOLD = "emails: [ada@example.com]"
ROLE = "arn:aws:iam::123456789012:role/Admin"
SESSION = "arn:aws:sts::123456789012:assumed-role/Admin/ada"
SSO = "arn:aws:sts::123456789012:assumed-role/AWSReservedSSO_Admin_0123/ada"
RULES = [
    ("pools.0.max_nodes", "eight", "a whole number from 1 to 100"),
    ("region", "[us-east-1]", "a text, not a list"),
    ("zones", "us-east-1a, us-east-1b", "a list"),
    ("zones", "[us-east-1a]", "at least two zones"),
    ("pools", "[]", "at least one pool"),
    ("pools.0.instance_types", "[]", "at least one instance type"),
    ("network.api_access", "", "required; it has no default"),
    ("network.api_access", "{private: true}", "one of: runner, vpn"),
    ("storage.backup", "maybe", "true or false"),
    ("images", "{build: false, training: 'me/image:1'}", DIGEST),
    ("cluster.admins", "[alice]", "the ARN of an IAM role or user"),
    ("cluster", "", "a section with settings of its own"),
    ("cluster.log_days", "100", f"one of: {DAYS}"),
    ("budget", f"{{usd_per_month: $8000, {TOLD}}}", f"a number {DOLLARS}"),
    ("budget", f"{{usd_per_month: .inf, {TOLD}}}", f"a number {DOLLARS}"),
    ("budget", f"{{usd_per_month: .nan, {TOLD}}}", f"a number {DOLLARS}"),
    ("budget", f"{{usd_per_month: 0, {TOLD}}}", f"a number {DOLLARS}"),
    ("budget", f"{{usd_per_month: 99999999, {TOLD}}}", f"a number {DOLLARS}"),
    ("jobs", "{gpu_quota: -1}", "a whole number of at least 0"),
    ("jobs", "{gpu_quota: none}", "a whole number of at least 0"),
]
NEXT = [
    (CIDRS, "[198.51.100.7/24]", "has host bits; did you mean 198.51.100.7/32 or 198.51.100.0/24?"),
    (CIDRS, "198.51.100.7/32", "write a list: cidrs: [198.51.100.7/32]"),
    ("network.cidr", "10.20.0.1/16", "has host bits; did you mean 10.20.0.0/16?"),
    ("region", "[us-east-1]", "write it without brackets: region: us-east-1"),
    ("zones", "us-east-1a, us-east-1b", "write a list: zones: [us-east-1a, us-east-1b]"),
    ("network.api_access", "{private: true}", "write runner or vpn"),
    ("pools.0.name", "T4-Spot", "write t4-spot"),
    ("pools", "[t4]", "write settings below pools[0]; stacks/aws/everything.yaml has an example"),
    ("zones", "[us-east-1a, ]", "add to zones; stacks/aws/everything.yaml has an example"),
    ("region", "5", 'YAML reads it as a number; write it in quotes: "5"'),
    ("pools.0.gpu", "T4", f"did you mean 't4'? known here: {', '.join(GPUS)}"),
    ("cluster", "", "give cluster a value, or remove the line"),
    ("cluster.log_days", "100", "write 90 or 120"),
    ("cluster.log_days", "0", "write 1"),
    ("cluster.log_days", "9999", "write 731"),
    ("cluster.log_days", "'90'", "write 90, without the quotes"),
    ("cluster.log_days", "a month", "write one of them, such as 90"),
    ("cluster.log_days", "true", "write one of them, such as 90"),
    ("pools.0.max_nodes", "'8'", "write 8, without the quotes"),
    ("pools.0.max_nodes", "8.0", "write 8"),
    ("pools.0.max_nodes", "8.5", "set pools[0].max_nodes to a whole number from 1 to 100"),
    ("pools.0.max_nodes", "8 nodes", "set pools[0].max_nodes to a whole number from 1 to 100"),
    ("budget", f"{{usd_per_month: $8000, {TOLD}}}", "write 8000, the number alone"),
    ("budget", f"{{usd_per_month: '8,000.50 USD', {TOLD}}}", "write 8000.50, the number alone"),
    ("budget", f"{{usd_per_month: '8000', {TOLD}}}", "write 8000, without the quotes"),
    (
        "budget",
        f"{{usd_per_month: .inf, {TOLD}}}",
        f"set budget.usd_per_month to a number {DOLLARS}",
    ),
    (
        "budget",
        "{usd_per_month: 5}",
        "add budget.emails; stacks/aws/everything.yaml has an example",
    ),
    ("jobs", "{gpu_quota: -1}", "leave it out for no limit, or set it to a whole number"),
    ("cluster.admins", f"['{SESSION}']", f"this is a session; write its role: {ROLE}"),
    (
        "cluster.admins",
        f"['{SSO}']",
        "this is a session, not the role: `aws iam get-role --role-name AWSReservedSSO_Admin_0123 "
        "--query Role.Arn` prints the role's ARN",
    ),
    (
        "cluster.researchers",
        "[ada]",
        "write its ARN: `aws iam get-role --role-name ada --query Role.Arn` prints it "
        "(of a user: get-user --user-name)",
    ),
    (
        "cluster.admins",
        "['arn:aws:iam::123456789012:root']",
        "name a role or a user of the account; an account as a whole cannot enter",
    ),
    (
        "cluster.admins",
        "['arn:aws:iam::123456789012:group/ml']",
        "name the role that members of the group take; groups cannot enter a cluster",
    ),
    (
        "storage.file_system",
        "fs-0123456789abcdef0",
        "write its ARN: `aws efs describe-file-systems --file-system-id fs-0123456789abcdef0 "
        "--query FileSystems[0].FileSystemArn` prints it",
    ),
    (
        "storage.file_system",
        "fsap-0123456789abcdef0",
        "name the file system, not an access point: the stack makes one of its own",
    ),
    (
        "storage.mount_security_groups",
        "['arn:aws:ec2:us-east-1:123456789012:security-group/sg-0123456789abcdef0']",
        "write sg-0123456789abcdef0",
    ),
]


@pytest.mark.parametrize(("path", "written", "rule"), RULES)
def test_the_rule_is_in_the_words_of_the_file(path: str, written: str, rule: str) -> None:
    assert the_only(path, written).rule == rule


@pytest.mark.parametrize(("path", "written", "step"), NEXT)
def test_the_next_step_is_what_to_write(path: str, written: str, step: str) -> None:
    assert the_only(path, written).next_step == step


def test_a_section_left_empty_is_told_as_one_not_set() -> None:
    problem = the_only("network.api_access", "")
    assert problem.value == "(not set)"
    assert "private: runner" in problem.next_step


@pytest.mark.parametrize("written", ["1.30", '"1.30"', "1.36"])
def test_a_version_is_answered_with_those_supported_in_quotes(written: str) -> None:
    assert the_only("cluster.version", written).next_step.startswith('write "1.35" or "1.36"')


def test_types_with_another_gpu_name_both_ways_out() -> None:
    first, second = refused("pools.0.gpu", "h100")
    assert first.next_step == second.next_step
    assert first.next_step.startswith("set pools[0].gpu to t4, or name types with h100, like p5.")


def test_types_that_differ_in_number_name_both_ways_out() -> None:
    problem, _ = refused("pools.0.gpus_per_node", "4")
    ways = "set pools[0].gpus_per_node to 1, or name types with t4, like g4dn.12xlarge"
    assert problem.next_step == ways


def test_one_type_of_another_gpu_is_sent_to_a_pool_of_its_own() -> None:
    step = the_only("pools.0.instance_types", "[g4dn.xlarge, g5.xlarge]").next_step
    assert step.startswith("move this type to a pool of its own, or name types with t4, like g4dn.")


def test_settings_left_empty_are_told_as_not_set() -> None:
    with pytest.raises(SettingsError, match=r"copy the key from stacks/Pulumi\.dev\.yaml"):
        schema.parse(None, source="stacks/Pulumi.test.yaml")


SHOWN = [
    ("pools.0.max_nodes", "'8'", '"8"'),
    ("storage.backup", "'true'", '"true"'),
    ("jobs.namespace", "''", '""'),
    ("pools.0.max_nodes", ".inf", ".inf"),
    ("pools.0.max_nodes", "many", "many"),
]


@pytest.mark.parametrize(("path", "written", "shown"), SHOWN)
def test_a_text_that_looks_like_something_else_is_shown_in_quotes(
    path: str, written: str, shown: str
) -> None:
    assert the_only(path, written).value == shown


def test_a_value_is_shown_as_yaml_has_it() -> None:
    assert the_only("region", "[us-east-1]").value == "[us-east-1]"
    assert the_only("network.nat", "true").value == "true"
