"""A stack file says nothing that Pulumi would ignore; what stands wrong is judged all the same."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from stacks import schema, stack_file
from stacks.problems import Problem, SettingsError
from stacks.recorder import record

DEV = (stack_file.STACKS / "Pulumi.dev.yaml").read_text()
Write = Callable[[str], object]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Makes stacks/Pulumi.mine.yaml."""
    monkeypatch.setattr(stack_file, "STACKS", tmp_path)
    return lambda text: tmp_path.joinpath("Pulumi.mine.yaml").write_text(text)


def problems_of_mine() -> dict[str, Problem]:
    """Of file and settings together."""
    file = stack_file.read("mine")
    with pytest.raises(SettingsError) as refused:
        schema.parse(file.settings, source="x", beside=file.problems)
    return {problem.path: problem for problem in refused.value.problems}


@pytest.mark.parametrize("stack", stack_file.stack_names())
def test_a_shipped_file_has_no_key_that_pulumi_would_ignore(stack: str) -> None:
    document = yaml.safe_load((stack_file.STACKS / f"Pulumi.{stack}.yaml").read_text())
    assert list(document) == ["config"]
    assert not stack_file.read(stack).problems


def test_what_pulumi_itself_writes_is_taken(write: Write) -> None:
    write(
        f"secretsprovider: passphrase\nencryptionsalt: v1:abc\nencryptedkey: xyz\n"
        f"environment: [shared]\nmainEnvironment: a/b\npackages: {{}}\n{DEV}"
    )
    assert not stack_file.read("mine").problems


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("budget: {usd_per_month: 5}", "write it below spotrain:settings, indented like the other"),
        ("confg: {}", "did you mean 'config'?"),
        ("encryptionsald: v1", "did you mean 'encryptionsalt'?"),
        ("spotrain:settings: {}", "indent it below `config:`"),
        ("spotrain:region: us-east-1", "write it below spotrain:settings"),
        ("aws:region: us-east-1", "remove it; the region stands in spotrain:settings"),
    ],
)
def test_a_key_at_the_top_that_nobody_reads_is_refused(write: Write, line: str, step: str) -> None:
    write(f"{DEV}{line}\n")
    problem = problems_of_mine()[f"{line.split(': ')[0]}, at the top"]
    assert problem.next_step.startswith(step)


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("spotrain:setings: {}", "did you mean 'spotrain:settings'?"),
        ("spotrain:budget: {}", "write it below spotrain:settings"),
        ("aws:region: us-east-1", "remove it; the region stands in spotrain:settings"),
    ],
)
def test_a_key_of_the_config_that_nobody_reads_is_refused(
    write: Write, line: str, step: str
) -> None:
    write(f"{DEV}  {line}\n")
    problem = problems_of_mine()[f"config.{line.split(': ')[0]}"]
    assert problem.next_step.startswith(step)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("  spotrain:settings:", "  spotrain:setings:"),
        ("config:\n", "confg:\n"),
        ("config:\n  spotrain:settings:", "spotrain:settings:"),
    ],
)
def test_settings_under_a_misspelled_key_are_judged_too(
    write: Write, right: str, wrong: str
) -> None:
    write(DEV.replace(right, wrong).replace("region: us-east-1", "region: mars"))
    problems = problems_of_mine()
    assert "region" in problems
    assert len(problems) > 1
    assert not any("required" in problem.rule for problem in problems.values())


def test_a_section_at_the_top_is_judged_as_if_it_stood_right(write: Write) -> None:
    write(f"{DEV}budget: {{usd_per_month: -1, emails: [ada@example.com]}}\n")
    assert set(problems_of_mine()) == {"budget, at the top", "budget.usd_per_month"}


def test_repeated_keys_wrong_keys_wrong_fields_and_broken_rules_are_told_together(
    write: Write,
) -> None:
    text = DEV.replace("        max_nodes: 8\n", "        max_nodes: 8\n        max_nodes: no\n")
    text = text.replace("      throughput: bursting", "      5: 6\n      throughput: fast")
    text = text.replace("us-east-1b]", "us-west-2b]")
    write(f"{text}  aws:region: us-east-1\nbugdet: 5\n")
    assert set(problems_of_mine()) == {
        "pools[0].max_nodes",  # of the two, only that there are two
        "storage.5",
        "storage.throughput",
        "zones[1]",
        "config.aws:region",
        "bugdet, at the top",
    }


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("config: 5\n", "config"),
        ("config:\n  spotrain:settings: 5\n", "spotrain:settings"),
        ("config:\n  spotrain:settings: [cloud, aws]\n", "spotrain:settings"),
        ("config:\n  spotrain:settings:\n", "config.spotrain:settings"),
        ("", "config.spotrain:settings"),
        ("- config\n", "config.spotrain:settings"),
        ("just words\n", "config.spotrain:settings"),
    ],
)
def test_a_file_of_another_shape_is_told(write: Write, text: str, path: str) -> None:
    write(text)
    assert set(problems_of_mine()) == {path}


def test_a_run_of_pulumi_refuses_what_pulumi_ignores(write: Write) -> None:
    """A budget in the wrong place would watch nothing."""
    write(f"{DEV}budget: {{usd_per_month: 5, emails: [ada@example.com]}}\n")
    settings = {"spotrain:settings": yaml_to_json(DEV)}
    with pytest.raises(SettingsError, match="budget, at the top"):
        record(lambda: print(schema.load()), project="spotrain", stack="mine", config=settings)


def test_a_run_of_pulumi_with_a_file_elsewhere_is_judged_by_what_pulumi_read() -> None:
    settings = {"spotrain:settings": yaml_to_json(DEV)}
    record(lambda: print(schema.load()), project="spotrain", stack="elsewhere", config=settings)


def yaml_to_json(text: str) -> str:
    """As Pulumi hands an object to the program."""
    return json.dumps(yaml.safe_load(text)["config"]["spotrain:settings"])


def test_a_file_that_cannot_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Pulumi.mine.yaml").mkdir()
    monkeypatch.setattr(stack_file, "STACKS", tmp_path)
    with pytest.raises(SettingsError, match=r"stacks/Pulumi\.mine\.yaml cannot be read"):
        stack_file.read("mine")
