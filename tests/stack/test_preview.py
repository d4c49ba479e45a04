"""The preview: what it shows, what it writes, what it refuses."""

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from rich.console import Console

from stacks import preview, preview_view, stack_file
from stacks.clouds import support
from stacks.pages.stacks import QUARRY, recording_of, settings_of
from stacks.platform_schema import PlatformSettings
from stacks.recorder import Recording

TWICE = """
import pulumi
pulumi.ComponentResource("a:b:C", "same", {})
pulumi.ComponentResource("a:b:C", "same", {})
"""


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What one run of the command left behind."""

    document: dict[str, Any]
    out: str
    err: str


@cache
def preview_of(stack: str) -> Preview:
    """A run of its own, beside the recording of the stack that other tests share."""
    out, err = io.StringIO(), io.StringIO()
    with TemporaryDirectory() as folder, redirect_stdout(out), redirect_stderr(err):
        assert preview.main([stack], build=Path(folder)) == 0
        written = Path(folder, "build", "preview", f"{stack}.json").read_text()
    return Preview(document=json.loads(written), out=out.getvalue(), err=err.getvalue())


def shown(stack: str, settings: PlatformSettings, recording: Recording, width: int) -> str:
    text = io.StringIO()
    preview_view.show(Console(width=width, file=text), stack, settings, recording)
    return text.getvalue()


def test_it_writes_every_resource_and_invoke(stack: str) -> None:
    said = preview_of(stack)
    resources = said.document["resources"]
    assert said.document.keys() == {"resources", "invokes"}
    assert all(r.keys() == {"type", "name", "parent", "inputs"} for r in resources)
    assert said.out.splitlines().count(f"{len(resources)} resources") == 1
    assert f"build/preview/{stack}.json" in said.err


def test_the_file_is_the_same_every_time(stack: str, recording: Recording) -> None:
    assert preview_of(stack).document == json.loads(json.dumps(recording.document()))


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_terminal(
    stack: str, settings: PlatformSettings, recording: Recording, width: int
) -> None:
    lines = shown(stack, settings, recording, width).splitlines()
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("name", [*stack_file.stack_names(), QUARRY.stem])
def test_a_narrow_terminal_cuts_nothing_short(name: str) -> None:
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown(name, settings_of(name), recording_of(name), 80)


def test_every_pool_is_shown(stack: str, settings: PlatformSettings, recording: Recording) -> None:
    text = shown(stack, settings, recording, 120)
    bill = support(settings.cloud).bill(settings, {})
    assert bill.pools
    for pool in bill.pools:
        (line,) = [line for line in text.splitlines() if line.lstrip().startswith(f"{pool.pool} ")]
        assert pool.instance_type in line


FIXED = {
    "aws": ("EKS control plane", "NAT gateways", "Managers", "KMS keys", "EFS", "Total"),
    "gcp": ("GKE control plane", "NAT gateway", "Managers", "KMS keys", "Filestore", "Total"),
}
"""Cloud -> what idles and is billed."""


def test_what_a_cloud_charges_is_shown_in_full(
    stack: str, settings: PlatformSettings, recording: Recording
) -> None:
    text = shown(stack, settings, recording, 120)
    if settings.cloud == "existing":
        assert "$" not in text
        assert "Nodes of your own" in text
        return
    for line in FIXED[settings.cloud]:
        assert line in text
    assert "as of 20" in text
    assert "Spot prices are " in text


def test_the_worst_case_is_shown(
    stack: str, settings: PlatformSettings, recording: Recording
) -> None:
    """Every pool full, twins too; spot as dear as on demand; all month."""
    text = " ".join(shown(stack, settings, recording, 120).split())
    if settings.cloud == "existing":
        assert "All pools full" not in text
        return
    bill = support(settings.cloud).bill(settings, preview_view.numbers_by_type(recording))
    hourly = sum(pool.most_nodes * pool.on_demand_usd_per_hour for pool in bill.pools)
    assert f"${bill.usd_per_month + 730 * hourly:,.0f} a month" in text
    for pool in bill.pools:
        assert pool.most_nodes * pool.spot_usd_per_hour <= pool.most_listed_usd_per_hour


def test_a_warning_stands_apart_and_whole() -> None:
    """On stderr, on one line, so that a command in it can be copied."""
    said = preview_of("dev")
    (line,) = [line for line in said.err.splitlines() if line.startswith("warning: ")]
    assert line.endswith("(curl https://checkip.amazonaws.com) before `pulumi up`.")
    assert "warning" not in said.out


def test_an_unknown_stack_names_the_others_and_the_file_to_copy(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert preview.main(["prodd"]) == 2
    assert capsys.readouterr().err == (
        "no stack 'prodd'; there are: dev, gcp, kind, prod\n"
        "  next    did you mean prod? Else copy stacks/Pulumi.dev.yaml to "
        "stacks/Pulumi.prodd.yaml and edit it\n"
    )


@pytest.mark.parametrize("argv", [[], [""]])
def test_no_stack_at_all_names_those_that_exist(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert preview.main(argv) == 2
    assert capsys.readouterr().err.startswith("no stack named; there are: dev, gcp, kind, prod\n")


def test_a_key_that_stands_twice_is_refused_with_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (stack_file.STACKS / "Pulumi.dev.yaml").read_text()
    text = text.replace("        max_nodes: 8\n", "        max_nodes: 8\n        max_nodes: 80\n")
    (tmp_path / "Pulumi.dev.yaml").write_text(text)
    monkeypatch.setattr(stack_file, "STACKS", tmp_path)
    lines = [n for n, line in enumerate(text.splitlines(), 1) if "  max_nodes: 8" in line]
    assert preview.main(["dev"], build=tmp_path) == 2
    said = capsys.readouterr().err
    assert f"pools[0].max_nodes: line {lines[1]}, and before it line {lines[0]}\n" in said
    assert "each key once in its section" in said


def test_a_wrong_stack_file_is_told_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (stack_file.STACKS / "Pulumi.dev.yaml").read_text()
    (tmp_path / "Pulumi.dev.yaml").write_text(text.replace("region: us-east-1", "region: mars"))
    monkeypatch.setattr(stack_file, "STACKS", tmp_path)
    assert preview.main(["dev"], build=tmp_path) == 2
    said = capsys.readouterr().err
    assert said.startswith("stacks/Pulumi.dev.yaml: ")
    assert "  region: mars\n    rule    a region of stacks/aws/gpus.yaml\n" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("config: [", "a file that is YAML", id="broken"),
        pytest.param("config:\n  aws:region: us-east-1\n", "the only key", id="other-key"),
        pytest.param(
            "config:\n  aws:region: us-east-1\n",
            "spotrain:settings, as `region: us-east-1`",
            id="aws",
        ),
        pytest.param("aws:region: us-east-1\n", "the region stands in", id="beside-config"),
        pytest.param("spotrain:settings: {}\n", "indent it below `config:`", id="not-indented"),
        pytest.param("", "copy the key from stacks/Pulumi.dev.yaml", id="empty"),
    ],
)
def test_a_file_without_settings_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    said: str,
) -> None:
    (tmp_path / "Pulumi.mine.yaml").write_text(text)
    monkeypatch.setattr(stack_file, "STACKS", tmp_path)
    assert preview.main(["mine"]) == 2
    assert said in capsys.readouterr().err


def test_two_resources_with_one_urn_fail_the_preview(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "program.py"
    program.write_text(TWICE)
    assert preview.main(["dev"], program=program, build=tmp_path) == 1
    said = capsys.readouterr().err
    assert "urn:pulumi:dev::spotrain::a:b:C::same" in said
    assert not (tmp_path / "build").exists()


def test_it_runs_as_a_command_without_account_or_pulumi_cli(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "stacks.preview", "nowhere"],
        cwd=preview.ROOT,
        env={"PATH": "/nonexistent", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 2


def test_nothing_of_aws_is_asked_while_the_program_loads() -> None:
    code = "import sys, stacks.clouds; print([m for m in sys.modules if m.startswith('boto')])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=preview.ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_look_up_that_nobody_answers_fails(build: Any) -> None:
    import pulumi_aws as aws

    with pytest.raises(Exception, match="no stand-in answer for aws:index/getCallerIdentity"):
        build(lambda: aws.get_caller_identity_output().account_id)
