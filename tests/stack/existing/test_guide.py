"""docs/existing-cluster.md says what the shipped stack file needs, word for word."""

import re
from typing import Any

import pytest
import yaml

from spotrain import contract
from stacks import schema
from stacks.existing.build import existing_args
from stacks.existing.schema import ExistingSettings
from stacks.preview import ROOT
from stacks.stack_file import read_config

GUIDE = (ROOT / "docs" / "existing-cluster.md").read_text()


@pytest.fixture
def settings() -> ExistingSettings:
    parsed = schema.parse(read_config("kind")["settings"], source="kind")
    assert isinstance(parsed, ExistingSettings)
    return parsed


@pytest.fixture
def node() -> dict[str, Any]:
    """The one node of the cluster that the guide has kind make."""
    found = re.search(r"kind create cluster --config - <<END\n(.*?)\n *END\n", GUIDE, re.DOTALL)
    assert found
    cluster = yaml.safe_load(found[1])
    assert (cluster["kind"], cluster["apiVersion"]) == ("Cluster", "kind.x-k8s.io/v1alpha4")
    (only,) = cluster["nodes"]
    found_node: dict[str, Any] = only
    return found_node


def test_the_node_has_the_labels_by_which_jobs_find_it(
    settings: ExistingSettings, node: dict[str, Any]
) -> None:
    (pool,) = existing_args(settings).pools
    (zone,) = pool.zones
    assert node["labels"] == {**pool.node_labels(), contract.LABEL_ZONE: zone}


def test_the_folder_that_the_node_gets_is_the_volume(
    settings: ExistingSettings, node: dict[str, Any]
) -> None:
    (mount,) = node["extraMounts"]
    assert mount["containerPath"] == settings.volume.host_path
    folder = mount["hostPath"].replace("$HOME", "~")
    made = (
        f"install -d -m 0777 {folder} {folder}/{contract.DATA_DIR} {folder}/{contract.OUTPUT_DIR}"
    )
    assert made in GUIDE


def test_minikube_gets_the_same_labels_and_folder(settings: ExistingSettings) -> None:
    (pool,) = existing_args(settings).pools
    labels = {**pool.node_labels(), contract.LABEL_ZONE: pool.zones[0]}
    said = " ".join(f"{key}={value}" for key, value in labels.items())
    assert f"kubectl --context minikube label node minikube {said}\n" in GUIDE
    assert f'--mount-string "$HOME/spotrain:{settings.volume.host_path}"' in GUIDE


def test_the_images_that_are_built_are_loaded_and_are_those_of_the_stack(
    settings: ExistingSettings,
) -> None:
    for image in (settings.images.controller, settings.images.training):
        assert f" -t {image} .\n" in GUIDE
        assert re.search(rf"kind load docker-image .*{image}", GUIDE)
        assert f"minikube image load {image}\n" in GUIDE


def test_every_command_names_the_context_of_the_stack(settings: ExistingSettings) -> None:
    """Whatever kubectl points at by itself, the steps go to the cluster that they made."""
    steps = GUIDE.split("## kind, step by step")[1].split("## minikube")[0]
    commands = re.findall(r"\$ kubectl (.*)", steps)
    assert commands
    context = f"--context {settings.kubeconfig.context} "
    assert [command for command in commands if not command.startswith(context)] == []


def test_the_user_that_folders_must_be_writable_for_is_the_contracts() -> None:
    assert f"uid {contract.JOB_UID}" in GUIDE
    assert f"chown {contract.JOB_UID}:{contract.JOB_UID} " in GUIDE


def test_the_files_and_folders_that_it_names_are_there() -> None:
    for path in ("k8s/examples/digits-cpu.yaml", "stacks/Pulumi.kind.yaml"):
        assert path in GUIDE
        assert (ROOT / path).is_file()
