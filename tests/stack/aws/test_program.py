"""The whole program on AWS: what it tells a person, and what it leaves out when asked to."""

import json

import pytest

from stacks.aws.schema import AwsSettings
from stacks.pages.stacks import recording_of
from stacks.preview import ROOT, run_program
from stacks.recorder import Recording
from stacks.stack_file import read_config


def test_outputs_are_what_a_person_needs_next(recording: Recording, settings: AwsSettings) -> None:
    outputs = recording.outputs
    grafana = {"grafana"} if settings.observability.metrics else set()
    network = {"region", "vpcId", "privateSubnetIds", "clusterName", "login"}
    assert outputs.keys() == {
        "jobNamespace",
        "trainingImage",
        "controllerImage",
        "fileSystem",
        *network,
        *grafana,
    }
    assert outputs["region"] == settings.region
    assert len(outputs["privateSubnetIds"]) == len(settings.zones)
    assert outputs["login"].endswith(f" --name {outputs['clusterName']}")
    assert outputs["jobNamespace"] == settings.jobs.namespace
    assert "@sha256:" in outputs["trainingImage"]
    assert outputs["login"].startswith("aws eks update-kubeconfig --region " + settings.region)


@pytest.mark.parametrize(("account", "allowed"), [(None, None), ("123456789012", ["123456789012"])])
def test_a_named_account_is_the_only_one_that_is_built_in(
    account: str | None, allowed: list[str] | None
) -> None:
    config = read_config("dev")
    config["settings"]["account"] = account
    (provider,) = run_program(ROOT / "__main__.py", "dev", config).of_type("pulumi:providers:aws")
    assert provider.inputs.get("allowedAccountIds") == (json.dumps(allowed) if allowed else None)


def test_a_zone_more_replaces_no_node_and_moves_nothing() -> None:
    """Of these kinds AWS changes nothing in place that a zone could change."""
    kinds = {"nodeGroup:NodeGroup", "mountTarget:MountTarget", "subnet:Subnet", "launchTemplate"}
    config, before = read_config("dev"), recording_of("dev")
    config["settings"]["zones"] = [*config["settings"]["zones"], "us-east-1c"]
    after = {r.urn: r for r in run_program(ROOT / "__main__.py", "dev", config).resources}
    fixed = [r for r in before.resources if any(kind in r.type for kind in kinds)]
    assert len(fixed) >= 2 + 1 + 2 + 4
    assert [r.name for r in fixed if after[r.urn].inputs != r.inputs] == []
    (plane,) = before.of_type("eks:index:Cluster")
    assert after[plane.urn].inputs == plane.inputs


def test_given_images_are_used_and_nothing_is_built() -> None:
    config = read_config("dev")
    given = {k: f"example/{k}@sha256:{'0' * 64}" for k in ("training", "controller")}
    config["settings"]["images"] = {"build": False, **given}
    recording = run_program(ROOT / "__main__.py", "dev", config)
    assert recording.outputs["trainingImage"] == given["training"]
    assert recording.of_type("docker-build:index:Image") == []
    assert recording.of_type("aws:ecr/repository:Repository") == []
    assert recording.invokes == []


@pytest.mark.parametrize("file", ["__main__.py"])
def test_the_program_is_a_table_of_contents(file: str) -> None:
    assert len((ROOT / file).read_text().splitlines()) <= 100
