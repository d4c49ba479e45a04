"""The training script as far as it needs no agent: settings, data folders, models, one process."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from PIL import Image
from sklearn.datasets import load_digits

from spotrain import contract
from spotrain.ledger.exactness import Exactness, audit, read_commits, read_sample_log

SCRIPT = Path(__file__).parents[1] / "training-image" / "imagenet.py"
FAMILIES = [
    *("alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "googlenet", "inception_v3"),
    *("maxvit_t", "mnasnet0_5", "mobilenet_v3_small", "regnet_x_400mf", "resnet50"),
    *("shufflenet_v2_x0_5", "squeezenet1_0", "swin_t", "vgg11_bn", "vit_b_16"),
]
"""One of each kind that torchvision has; what differs within a kind is depth and width."""


@pytest.fixture(scope="module")
def imagenet() -> Iterator[ModuleType]:
    """The script as a module; its folder has a hyphen, so that nothing can import it by name."""
    spec = importlib.util.spec_from_file_location("imagenet_script", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def write_images(folder: Path, classes: str = "ab", *, side: int = 8, count: int = 2) -> Path:
    """A data folder as the script expects it."""
    for part in ("train", "val"):
        for name in classes:
            (folder / part / name).mkdir(parents=True)
            for number in range(count):
                Image.new("L", (side, side), number).save(folder / part / name / f"{number}.png")
    return folder


# --- The script itself -------------------------------------------------------------------------


def test_it_is_self_contained_and_short() -> None:
    source = SCRIPT.read_text()
    ours = [line for line in source.splitlines() if "import" in line and "spotrain" in line]
    assert ours == ["import spotrain.train as elastic"]
    assert len(source.splitlines()) <= 350


def test_it_leaves_by_the_contracts_usage_code(imagenet: ModuleType) -> None:
    assert imagenet.EXIT_USAGE == contract.EXIT_USAGE


def test_every_launch_line_of_its_docstring_parses(imagenet: ModuleType) -> None:
    docstring = ast.get_docstring(ast.parse(SCRIPT.read_text())) or ""
    lines = re.findall(r"imagenet\.py (--.*)$", docstring, re.MULTILINE)
    assert len(lines) == 3
    for line in lines:
        assert imagenet.parse(line.split()).data.name in {"digits", "data", "imagenet"}


# --- Settings ------------------------------------------------------------------------------------


def test_the_defaults_are_imagenets(imagenet: ModuleType) -> None:
    config = imagenet.parse(["data"])
    assert (config.arch, config.image_size, config.epochs) == ("resnet50", 224, 90)
    assert (config.output, config.seed) == ("output", 0)


def test_the_small_model_sees_small_images(imagenet: ModuleType) -> None:
    assert imagenet.parse(["--arch", "small", "data"]).image_size == 32
    assert imagenet.parse(["--arch", "small", "--image-size", "8", "data"]).image_size == 8


def test_a_checkpoint_file_stands_for_its_folder(imagenet: ModuleType) -> None:
    config = imagenet.parse(["--checkpoint-file", "/mnt/efs/output/run1/checkpoint.pth", "data"])
    assert config.output == "/mnt/efs/output/run1"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param([], "required: DATA", id="no data"),
        pytest.param(["--arch", "resnt50", "d"], "'resnt50', which is no model; near:.*resnet50"),
        pytest.param(["--epochs", "0", "d"], "--epochs is 0, but must be 1 or more", id="epochs"),
        pytest.param(["--batch-size", "0", "d"], "--batch-size is 0, but must be 1", id="batch"),
        pytest.param(["--workers", "-1", "d"], "--workers is -1, but must be 0", id="workers"),
        pytest.param(["--image-size", "7", "d"], "--image-size is 7, but must be 8", id="pixels"),
        pytest.param(["--lr", "nan", "d"], "--lr is nan, but must be 0 or more", id="lr"),
        pytest.param(["--lr", "fast", "d"], "--lr: invalid float value: 'fast'", id="no number"),
        pytest.param(["--batch", "8", "d"], "unrecognized arguments: --batch", id="abbreviation"),
        pytest.param(
            ["--output", "x", "--checkpoint-file", "y/z", "d"], "give one", id="two outputs"
        ),
    ],
)
def test_a_wrong_setting_is_refused(
    imagenet: ModuleType, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        imagenet.parse(arguments)
    assert ended.value.code == contract.EXIT_USAGE
    assert re.search(words, capsys.readouterr().err)


def test_the_learning_rate_rises_falls_and_stays_above_zero(imagenet: ModuleType) -> None:
    factors = [imagenet.lr_factor(epoch, 20) for epoch in range(20)]
    assert factors[:4] == [0.25, 0.5, 0.75, 1.0]
    assert factors[3:] == sorted(factors[3:], reverse=True)
    assert 0 < factors[-1] < 0.02
    assert imagenet.lr_factor(0, 1) == 1.0


# --- Data folders --------------------------------------------------------------------------------


def remove_class(folder: Path) -> None:
    for path in (folder / "val" / "b").iterdir():
        path.unlink()
    (folder / "val" / "b").rmdir()


def empty_class(folder: Path) -> None:
    for path in (folder / "train" / "b").iterdir():
        path.unlink()


def empty_part(folder: Path) -> None:
    (folder / "train").rename(folder / "elsewhere")
    (folder / "train").mkdir()


def flatten(folder: Path) -> None:
    empty_part(folder)
    Image.new("L", (8, 8)).save(folder / "train" / "0.png")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        pytest.param(
            lambda folder: folder.rename(folder.with_name("gone")),
            "train: expected one folder of images per class, found no such folder",
            id="missing",
        ),
        pytest.param(
            empty_part, "train: expected .*, found no class folder but 0 file", id="empty"
        ),
        pytest.param(flatten, "train: expected .*, found no class folder but 1 file", id="flat"),
        pytest.param(empty_class, "train: .*; found no valid file for the classes b", id="class"),
        pytest.param(remove_class, "same class folders.* only one of them has b", id="classes"),
    ],
)
def test_a_wrong_data_folder_is_one_line_and_the_usage_code(
    imagenet: ModuleType,
    spoil: Any,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_process_group(*_: Any, **__: Any) -> None:
        raise AssertionError("the data was not looked at before training")

    monkeypatch.setattr(imagenet.elastic, "run", no_process_group)
    data = write_images(tmp_path / "data")
    spoil(data)
    assert imagenet.main([str(data)]) == contract.EXIT_USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(words, line)


@pytest.mark.parametrize("size", [8, 32, 64, 224])
def test_every_image_comes_in_the_size_that_the_model_sees(
    imagenet: ModuleType, size: int, tmp_path: Path
) -> None:
    data = write_images(tmp_path / "data", side=40)
    config = imagenet.parse(["--image-size", str(size), str(data)])
    for images in imagenet.read_folders(config):
        image, label = images[0]
        assert image.shape == (3, size, size)
        assert label == 0


# --- Models --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_of_models_gives_a_score_per_class(imagenet: ModuleType, name: str) -> None:
    """On the meta device: shapes only, no memory and no arithmetic."""
    config = imagenet.parse(["--arch", name, "data"])
    counts_its_blocks_with_tensors = name.startswith("regnet")
    with torch.device("cpu" if counts_its_blocks_with_tensors else "meta"):
        model = imagenet.build_model(config, classes=7).to("meta")
    images = torch.empty(2, 3, config.image_size, config.image_size, device="meta")
    assert model(images).shape == (2, 7)


def test_a_vision_transformer_is_built_for_the_image_size(imagenet: ModuleType) -> None:
    config = imagenet.parse(["--arch", "vit_b_32", "--image-size", "384", "data"])
    with torch.device("meta"):
        model = imagenet.build_model(config, classes=7)
        assert model(torch.empty(1, 3, 384, 384)).shape == (1, 7)


@pytest.mark.parametrize("size", [8, 16, 28, 32])
def test_the_small_model_takes_every_small_image_even_alone(
    imagenet: ModuleType, size: int
) -> None:
    """A batch of one is what the end of an epoch may leave for a rank."""
    model = imagenet.build_model(imagenet.parse(["--arch", "small", "data"]), classes=10).train()
    assert model(torch.randn(1, 3, size, size)).shape == (1, 10)
    assert sum(weight.numel() for weight in model.parameters()) < 100_000


def test_only_matrices_have_weight_decay(imagenet: ModuleType) -> None:
    config = imagenet.parse(["--arch", "small", "--weight-decay", "0.5", "data"])
    model = imagenet.build_model(config, classes=10)
    groups = imagenet.build_optimizer(model, config).param_groups
    decay = {id(weight): group["weight_decay"] for group in groups for weight in group["params"]}
    assert len(decay) == len(list(model.parameters()))
    for weight in model.parameters():
        assert decay[id(weight)] == (0.5 if weight.ndim > 1 else 0.0)


# --- One process, no agent -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """scikit-learn's 1,797 handwritten digits; every fifth one validates."""
    folder = tmp_path_factory.mktemp("digits")
    data = load_digits()
    for number, (pixels, label) in enumerate(zip(data.images, data.target, strict=True)):
        place = folder / ("train" if number % 5 else "val") / str(label)
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray((pixels * 15.9).astype("uint8")).save(place / f"{number:04d}.png")
    return folder


def train(sample_log: Path, *arguments: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, SCRIPT, "--arch", "small", "--image-size", "8", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", contract.ENV_SAMPLE_LOG: str(sample_log)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_learns_real_digits_and_goes_on_where_it_stopped(digits: Path, tmp_path: Path) -> None:
    log, output = tmp_path / "samples", tmp_path / "output"
    options = ("--batch-size", "16", "--workers", "0", "--output", output)
    assert train(log, *options, "--epochs", "2", digits).startswith("epoch 1/2")
    lines = train(log, *options, "--epochs", "5", digits).splitlines()
    assert [line.split(":")[0] for line in lines] == ["epoch 3/5", "epoch 4/5", "epoch 5/5"]
    assert float(lines[-1].split()[-1]) >= 0.95
    result = audit(1437, read_commits(output / "checkpoints"), read_sample_log(log))
    assert result == Exactness(0, 0, padding=0, epochs_checked=5, problems=())
