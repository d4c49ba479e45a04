"""Repositories and image builds."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from components.aws.images import ROOT, SOURCES, Images, ImagesArgs, content_tag
from stacks.recorder import MASK, Recording

REPOSITORY, IMAGE = "aws:ecr/repository:Repository", "docker-build:index:Image"
KINDS = ("training", "controller")


def images(build: Any, tags: Mapping[str, str], **bases: str) -> Recording:
    recording: Recording = build(lambda: Images("images", ImagesArgs(bases=bases, tags=tags)))
    return recording


def test_tags_never_move_and_pushes_are_scanned(build: Any, tags: Mapping[str, str]) -> None:
    repositories = images(build, tags).of_type(REPOSITORY)
    assert len(repositories) == 2
    for repository in repositories:
        assert repository.inputs["imageTagMutability"] == "IMMUTABLE"
        assert repository.inputs["imageScanningConfiguration"] == {"scanOnPush": True}


def test_old_images_expire(build: Any, tags: Mapping[str, str]) -> None:
    for policy in images(build, tags).of_type("aws:ecr/lifecyclePolicy:LifecyclePolicy"):
        (rule,) = json.loads(policy.inputs["policy"])["rules"]
        assert rule["action"] == {"type": "expire"}


def test_both_images_are_built_for_gpu_instances_and_pushed(
    build: Any, tags: Mapping[str, str]
) -> None:
    built = {image.name: image.inputs for image in images(build, tags).of_type(IMAGE)}
    assert built.keys() == {"images-training", "images-controller"}
    for name, inputs in built.items():
        kind = name.removeprefix("images-")
        assert inputs["dockerfile"] == {"location": f"{kind}-image/Dockerfile"}
        assert inputs["context"] == {"location": "."}
        assert inputs["platforms"] == ["linux/amd64"]
        assert inputs["push"] is True
        assert inputs["buildOnPreview"] is False


def test_the_registry_password_is_secret(build: Any, tags: Mapping[str, str]) -> None:
    recording = images(build, tags)
    assert {image.inputs["registries"] for image in recording.of_type(IMAGE)} == {MASK}
    assert "not-a-real-password" not in json.dumps(recording.document())


def test_a_base_image_is_a_build_argument(build: Any, tags: Mapping[str, str], find: Any) -> None:
    recording = images(build, tags, training="my/base:1")
    assert find.one(recording, IMAGE, "images-training").inputs["buildArgs"] == {
        "BASE_IMAGE": "my/base:1"
    }
    assert "buildArgs" not in find.one(recording, IMAGE, "images-controller").inputs


@pytest.mark.parametrize("kind", KINDS)
def test_the_tag_hashes_everything_that_the_dockerfile_copies(kind: str) -> None:
    lines = (ROOT / f"{kind}-image" / "Dockerfile").read_text().splitlines()
    copied = [word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]]
    assert copied
    for source in copied:
        top = source.split("/*")[0]
        hashed = any(top == s or s.startswith(f"{top}/") for s in SOURCES[kind])
        assert hashed, f"{source} changes the {kind} image but not its tag"


@pytest.mark.parametrize("kind", KINDS)
def test_images_run_without_root_from_a_base_of_choice(kind: str) -> None:
    text = (ROOT / f"{kind}-image" / "Dockerfile").read_text()
    assert "\nUSER 1000:1000\n" in text
    assert "ARG BASE_IMAGE=" in text
    assert "FROM ${BASE_IMAGE}\n" in text


def test_the_training_image_prints_its_help_by_default() -> None:
    text = (ROOT / "training-image" / "Dockerfile").read_text()
    assert 'ENTRYPOINT ["spotrain-run"]\nCMD ["--help"]' in text


def test_a_tag_changes_with_content_and_base_and_with_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "src" / "__pycache__").mkdir(parents=True)
    (tmp_path / "src" / "a.py").write_text("1")
    first = content_tag(tmp_path, ["src"], "")
    (tmp_path / "src" / "__pycache__" / "a.pyc").write_text("compiled")
    assert content_tag(tmp_path, ["src"], "") == first
    assert content_tag(tmp_path, ["src"], "base") != first
    (tmp_path / "src" / "a.py").write_text("2")
    assert content_tag(tmp_path, ["src"], "") != first
