"""Both images, built from a base of one's own and run: docs/images.md tells how to make the bases.

Needs buildah, and the names of the bases in the environment; skips, with the reason, without them.
"""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "images.md"
BASES = {kind: f"SPOTRAIN_{kind.upper()}_BASE" for kind in ("training", "controller")}
OPTIONS = "SPOTRAIN_BUILD_OPTIONS"
"""More options of `buildah build`, such as a volume with the certificates of a mirror."""
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def call(*command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=280)


def container_of(kind: str, **arguments: str) -> Iterator[Run]:
    base = os.environ.get(BASES[kind])
    if not shutil.which("buildah") or not base:
        pytest.skip(f"needs buildah, and a base image named by {BASES[kind]}")
    name = f"localhost/spotrain-test-{kind}"
    more = shlex.split(os.environ.get(OPTIONS, ""))
    given = {"BASE_IMAGE": base, **arguments}
    options = [f"--build-arg={name}={value}" for name, value in given.items()]
    options += ["-f", f"{kind}-image/Dockerfile", "-t", name]
    built = call("buildah", "build", "--layers", *more, *options, ".")
    assert built.returncode == 0, built.stderr[-2000:]
    container = call("buildah", "from", name).stdout.strip()
    yield lambda *command, mounts=(): call(
        "buildah", "run", *(f"--volume={mount}" for mount in mounts), container, "--", *command
    )
    call("buildah", "rm", container)


@pytest.fixture(scope="module")
def training() -> Iterator[Run]:
    """Runs a command in a container of the training image."""
    yield from container_of("training")


@pytest.fixture(scope="module")
def controller() -> Iterator[Run]:
    yield from container_of("controller")


def test_the_training_image_runs_without_root_and_shows_the_launchers_help(training: Run) -> None:
    assert training("id", "-u").stdout == "1000\n"
    assert training("spotrain-run", "--help").stdout.startswith("usage: spotrain-run")


def test_the_training_image_trains_on_one_machine(training: Run, tmp_path: Path) -> None:
    for part in ("train", "val"):
        for label in ("dark", "light"):
            folder = tmp_path / "data" / part / label
            folder.mkdir(parents=True)
            for number in range(8):
                shade = number + (0 if label == "dark" else 200)
                Image.new("L", (8, 8), shade).save(folder / f"{number}.png")
    script = ("imagenet.py", "--arch", "small", "--image-size", "8", "--epochs", "2")
    place = ("--workers", "0", "--output", "/tmp/run1", "/data")
    ranks = ("--standalone", "--nproc-per-node", "2")
    data = f"{tmp_path / 'data'}:/data:ro"
    trained = training("spotrain-run", *ranks, *script, *place, mounts=[data])
    assert trained.returncode == 0, trained.stderr[-2000:]
    assert "epoch 2/2" in trained.stdout + trained.stderr


def test_the_training_image_has_the_frameworks_that_were_asked_for() -> None:
    frameworks = "import lightning, transformers"
    for asked in ("", "lightning transformers"):
        for run in container_of("training", FRAMEWORKS=asked):
            assert (run("python3", "-c", frameworks).returncode == 0) is bool(asked)


def test_the_controller_image_runs_without_root_and_says_what_it_lacks(controller: Run) -> None:
    assert controller("id", "-u").stdout == "1000\n"
    started = controller("python3", "-m", "spotrain.controller")
    assert "no cluster to work for" in started.stderr


def test_the_controller_image_can_refresh_prices(controller: Run) -> None:
    assert "aws" in controller("python3", "-m", "spotrain.clouds", "--help").stdout
    ask = "from spotrain.clouds import aws; print(aws.connect('us-east-1').meta.region_name)"
    assert controller("python3", "-c", ask).stdout == "us-east-1\n"


def test_what_builds_the_package_is_not_in_the_images(training: Run, controller: Run) -> None:
    for run in (training, controller):
        assert run("sh", "-c", "ls -d /build /tools /package /requirements.lock").stdout == ""
        assert run("python3", "-c", "import hatchling").returncode != 0


def test_the_page_builds_with_the_dockerfiles_that_are_here() -> None:
    files = re.findall(r"-f (\S+/Dockerfile)", PAGE.read_text())
    assert set(files) == {f"{kind}-image/Dockerfile" for kind in BASES}
    assert [file for file in files if not (ROOT / file).is_file()] == []
