"""Repositories, image builds and their cache."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from components.aws.images import CACHE, Images, ImagesArgs
from components.image_content import KINDS, ROOT, content_tag, sources
from stacks.aws.costs import fixed_costs
from stacks.aws.schema import AwsSettings
from stacks.recorder import MASK, Recording

REPOSITORY, IMAGE = "aws:ecr/repository:Repository", "docker-build:index:Image"
LIFECYCLE = "aws:ecr/lifecyclePolicy:LifecyclePolicy"


def images(build: Any, tags: Mapping[str, str], **bases: str) -> Recording:
    recording: Recording = build(lambda: Images("images", ImagesArgs(bases=bases, tags=tags)))
    return recording


# --- Repositories -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_tags_never_move_and_pushes_are_scanned(
    build: Any, tags: Mapping[str, str], find: Any, kind: str
) -> None:
    repository = find.one(images(build, tags), REPOSITORY, f"images-{kind}").inputs
    assert repository["imageTagMutability"] == "IMMUTABLE"
    assert repository["imageScanningConfiguration"] == {"scanOnPush": True}


@pytest.mark.parametrize("kind", KINDS)
def test_old_images_expire(build: Any, tags: Mapping[str, str], find: Any, kind: str) -> None:
    policy = find.one(images(build, tags), LIFECYCLE, f"images-{kind}").inputs["policy"]
    (rule,) = json.loads(policy)["rules"]
    assert rule["action"] == {"type": "expire"}
    assert rule["selection"]["countType"] == "imageCountMoreThan"


def test_the_cache_moves_its_tags_in_a_repository_of_its_own(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    """A second push of the same tag is what an immutable repository refuses."""
    recording = images(build, tags)
    assert len(recording.of_type(REPOSITORY)) == len(KINDS) + 1
    cache = find.one(recording, REPOSITORY, f"images-{CACHE}").inputs
    assert cache["imageTagMutability"] == "MUTABLE"


def test_a_cache_whose_tag_has_moved_on_expires(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    policy = find.one(images(build, tags), LIFECYCLE, f"images-{CACHE}").inputs["policy"]
    (rule,) = json.loads(policy)["rules"]
    assert rule["selection"] == {
        "tagStatus": "untagged",
        "countType": "sinceImagePushed",
        "countUnit": "days",
        "countNumber": 1,
    }


def test_stored_images_are_on_the_bill(recording: Recording, settings: AwsSettings) -> None:
    counts = Counter(resource.type for resource in recording.resources)
    lines = {line.what: line.usd_per_month for line in fixed_costs(settings, counts)}
    assert 0 < lines["Images and their cache in ECR"] < 2
    without = fixed_costs(settings, {**counts, REPOSITORY: 0})
    assert not [line.what for line in without if "ECR" in line.what]


# --- Builds -------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("kind", KINDS)
def test_each_image_is_cached_whole_and_in_a_form_that_ecr_takes(
    build: Any, tags: Mapping[str, str], find: Any, kind: str
) -> None:
    inputs = find.one(images(build, tags), IMAGE, f"images-{kind}").inputs
    (written,), (read,) = inputs["cacheTo"], inputs["cacheFrom"]
    assert written["registry"]["ref"] == read["registry"]["ref"]
    assert written["registry"]["ref"].endswith(f"/images-{CACHE}:{kind}")
    assert written["registry"]["mode"] == "max"
    assert written["registry"]["imageManifest"] is True
    assert written["registry"]["ociMediaTypes"] is True


def test_a_cache_that_cannot_be_written_stops_no_deployment(
    build: Any, tags: Mapping[str, str]
) -> None:
    for image in images(build, tags).of_type(IMAGE):
        (written,) = image.inputs["cacheTo"]
        assert written["registry"]["ignoreError"] is True


def test_a_refresh_forgets_no_image_when_the_registrys_token_has_expired() -> None:
    """The provider mended that in 0.0.21. Every `pulumi up` refreshes; a token lives 12 hours."""
    floors = re.findall(r'"pulumi-docker-build>=([0-9.]+)"', (ROOT / "pyproject.toml").read_text())
    assert floors
    assert all([int(part) for part in floor.split(".")] >= [0, 0, 21] for floor in floors)


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


# --- Tags ---------------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that decide, in the midst of many that must not."""
    for kind in KINDS:
        folder = tmp_path / f"{kind}-image"
        folder.mkdir()
        for name in ("Dockerfile", "Dockerfile.dockerignore", "requirements.lock"):
            shutil.copyfile(ROOT / folder.name / name, folder / name)
    for name in (
        "README.md",
        "build.lock",
        "pyproject.toml",
        "requirements.lock",
        ".git/config",
        "components/image_build.py",
        "components/aws/network/network.py",
        "src/other/module.py",
        "src/spotrain/__pycache__/contract.pyc",
        "src/spotrain/contract.py",
        "src/spotrain/train/__pycache__/loader.pyc",
        "src/spotrain/train/loader.py",
        "src/spotrain/py.typed",
        "training-image/__pycache__/imagenet.pyc",
        "training-image/imagenet.py",
        "training-image/notes.md",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def tag(root: Path, kind: str, base: str = "") -> str:
    return content_tag(root, sources(root, kind), base)


def is_sent(file: str, patterns: list[str]) -> bool:
    """What Docker's rules make of a .dockerignore: of the lines that fit a file, or a folder
    that it is in, the last one holds."""
    places = [file, *(str(parent) for parent in Path(file).parents if str(parent) != ".")]
    sent = True
    for pattern in patterns:
        text = re.escape(pattern.removeprefix("!"))
        expression = text.replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*")
        if any(re.fullmatch(expression, place) for place in places):
            sent = pattern.startswith("!")
    return sent


@pytest.mark.parametrize("kind", KINDS)
def test_a_tag_changes_with_each_file_that_docker_is_sent_and_with_no_other(
    kind: str, checkout: Path
) -> None:
    ignore = checkout / f"{kind}-image" / "Dockerfile.dockerignore"
    patterns = [
        line for line in ignore.read_text().splitlines() if line and not line.startswith("#")
    ]
    always = {"components/image_build.py", f"{kind}-image/Dockerfile"}
    always.add(f"{kind}-image/Dockerfile.dockerignore")
    before = tag(checkout, kind)
    changing = set()
    files = [path for path in sorted(checkout.rglob("*")) if path.is_file()]
    for file in files:
        content = file.read_text()
        file.write_text(f"{content}\n# changed\n")
        if tag(checkout, kind) != before:
            changing.add(file.relative_to(checkout).as_posix())
        file.write_text(content)
    sent = {name for file in files if is_sent(name := str(file.relative_to(checkout)), patterns)}
    assert changing == sent | always
    assert "src/spotrain/contract.py" in sent
    assert not [name for name in sent if "README" in name or "__pycache__" in name]


@pytest.mark.parametrize("kind", KINDS)
def test_a_tag_changes_with_name_mode_and_base(kind: str, checkout: Path) -> None:
    before = tag(checkout, kind)
    assert tag(checkout, kind, "my/base:1") != before
    file = checkout / "src" / "spotrain" / "contract.py"
    file.chmod(0o600)
    assert tag(checkout, kind) != before
    file.chmod(0o644)
    assert tag(checkout, kind) == before
    file.rename(file.with_name("renamed.py"))
    assert tag(checkout, kind) != before


@pytest.mark.parametrize("kind", KINDS)
def test_a_dockerignore_holds_only_what_the_tag_understands(kind: str) -> None:
    text = (ROOT / f"{kind}-image" / "Dockerfile.dockerignore").read_text()
    first, *others, last = (line for line in text.splitlines() if not line.startswith("#"))
    assert (first, last) == ("*", "**/__pycache__")
    assert all(line.startswith("!") and "**" not in line for line in others)


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_of_a_tag_is_in_the_checkout(kind: str) -> None:
    assert [source for source in sources(ROOT, kind) if not list(ROOT.glob(source))] == []
