"""Which version of an add-on a stack gets, and how the pins are renewed."""

import re
from pathlib import Path
from typing import Any, get_args

import boto3  # type: ignore[import-untyped]
import pytest
import yaml
from botocore.stub import Stubber  # type: ignore[import-untyped]

from stacks.aws import pin_addons
from stacks.aws.addons import EKS_CHOOSES, FILE, addon_pins, addon_versions
from stacks.aws.cluster_schema import Cluster
from stacks.aws.pin_addons import recommended, repinned
from stacks.aws.schema import AwsSettings
from stacks.pages.stacks import QUARRY, recording_of
from stacks.recorder import Recording

ADDON = "aws:eks/addon:Addon"


def offer(version: str, kubernetes: str, *, default: bool = False) -> dict[str, Any]:
    """As DescribeAddonVersions answers."""
    return {
        "addonVersion": version,
        "architecture": ["amd64", "arm64"],
        "compatibilities": [
            {
                "clusterVersion": kubernetes,
                "platformVersions": ["*"],
                "defaultVersion": default,
            }
        ],
        "requiresConfiguration": False,
        "requiresIamPermissions": False,
    }


def test_every_kubernetes_version_that_a_stack_may_have_is_pinned() -> None:
    assert set(get_args(Cluster.model_fields["version"].annotation)) == addon_pins().keys()


@pytest.mark.parametrize("kubernetes", sorted(addon_pins()))
def test_the_pinned_addons_are_those_that_the_program_installs(kubernetes: str) -> None:
    installed = {a.inputs["addonName"] for a in recording_of(QUARRY.stem).of_type(ADDON)}
    assert addon_pins()[kubernetes].keys() == installed


def test_every_pin_says_where_and_when_it_was_seen() -> None:
    pins = [line for line in FILE.read_text().splitlines() if line.startswith("  ")]
    assert len(pins) == sum(map(len, addon_pins().values()))
    assert [line for line in pins if not re.search(r"# .+, \d{4}-\d\d(-\d\d)?$", line)] == []


@pytest.mark.parametrize("kubernetes", sorted(addon_pins()))
def test_kube_proxy_is_of_the_clusters_version(kubernetes: str) -> None:
    assert addon_pins()[kubernetes]["kube-proxy"].startswith(f"v{kubernetes}.")


def test_a_stack_installs_what_is_pinned(recording: Recording, settings: AwsSettings) -> None:
    wanted = addon_versions(settings.cluster.version, settings.cluster.addon_versions)
    installed = {
        a.inputs["addonName"]: a.inputs.get("addonVersion") for a in recording.of_type(ADDON)
    }
    assert installed == {addon: wanted.get(addon) for addon in installed}
    assert set(installed.values()) - {None}


def test_a_stack_file_changes_one_addon_and_no_other() -> None:
    pinned = addon_versions("1.36", {})
    changed = addon_versions("1.36", {"vpc-cni": "v1.23.0-eksbuild.1"})
    assert changed == {**pinned, "vpc-cni": "v1.23.0-eksbuild.1"}


def test_default_lets_eks_choose() -> None:
    left = addon_versions("1.36", {"coredns": EKS_CHOOSES})
    assert addon_versions("1.36", {}).keys() - left.keys() == {"coredns"}


def test_awss_default_is_recommended_before_newer_builds() -> None:
    offers = [
        offer("v1.23.0-eksbuild.1", "1.36"),
        offer("v1.22.4-eksbuild.3", "1.36", default=True),
        offer("v1.22.3-eksbuild.1", "1.35", default=True),
    ]
    assert recommended(offers, "1.36") == "v1.22.4-eksbuild.3"


def test_without_a_default_the_newest_that_fits_is_recommended() -> None:
    offers = [
        offer("v1.9.9-eksbuild.9", "1.36"),
        offer("v1.10.1-eksbuild.2", "1.36"),
        offer("v1.10.1-eksbuild.11", "1.36"),
        offer("v2.0.0-eksbuild.1", "1.35"),
    ]
    assert recommended(offers, "1.36") == "v1.10.1-eksbuild.11"
    assert recommended(offers, "1.34") is None


def test_a_new_pin_changes_its_line_and_nothing_else() -> None:
    before = FILE.read_text()
    after = repinned(before, "1.36", {"coredns": "v9.9.9-eksbuild.9"}, source="AWS, 2027-01-01")
    old, new = before.splitlines(), after.splitlines()
    assert [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]] == [
        (
            "  coredns: v1.14.3-eksbuild.23 # upgrade, 2026-09-24",
            "  coredns: v9.9.9-eksbuild.9 # AWS, 2027-01-01",
        )
    ]
    assert yaml.safe_load(after)["1.35"] == addon_pins()["1.35"]


@pytest.fixture
def eks() -> Any:
    return boto3.client(
        "eks", region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="x"
    )


@pytest.mark.parametrize("options", [(), ("--dry-run",)], ids=["writes", "dry-run"])
def test_the_file_is_written_from_what_eks_answers_unless_it_is_a_dry_run(
    options: tuple[str, ...],
    eks: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "addons.yaml"
    file.write_text(FILE.read_text())
    monkeypatch.setattr(pin_addons, "FILE", file)
    newer = {addon: f"v99.0.{i}-eksbuild.1" for i, addon in enumerate(addon_pins()["1.36"])}
    with Stubber(eks) as aws:
        for addon, version in newer.items():
            answer = {"addonName": addon, "addonVersions": [offer(version, "1.36", default=True)]}
            asked = {"addonName": addon, "kubernetesVersion": "1.36"}
            aws.add_response("describe_addon_versions", {"addons": [answer]}, asked)
        argv = ["--region", "eu-west-1", "--kubernetes", "1.36", *options]
        assert pin_addons.main(argv, client=eks) == 0
        aws.assert_no_pending_responses()
    written = yaml.safe_load(file.read_text())
    assert written == (addon_pins() if options else {**addon_pins(), "1.36": newer})
    assert (file.read_text() == FILE.read_text()) == bool(options)
    assert f"coredns: {addon_pins()['1.36']['coredns']} -> {newer['coredns']}" in (
        capsys.readouterr().out
    )


def test_an_addon_that_aws_no_longer_offers_is_kept_and_named() -> None:
    said = pin_addons.changes("1.36", {"coredns": "v1.1.1-eksbuild.1"}, {})
    assert said == ["Kubernetes 1.36: 0 of 1 change", "  coredns: not offered, kept as it is"]


def test_who_may_not_ask_is_told_what_is_missing(
    eks: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with Stubber(eks) as aws:
        aws.add_client_error("describe_addon_versions", "AccessDeniedException", "not you")
        assert pin_addons.main(["--region", "eu-west-1"], client=eks) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "not you" in said.err
    assert "eks:DescribeAddonVersions" in said.err
