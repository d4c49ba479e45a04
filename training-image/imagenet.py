"""Train an image classifier on any folder of images, on nodes that come and go.

    DATA/train/<class>/*.png|jpg|...       one folder per class, as torchvision's ImageFolder
    DATA/val/<class>/*.png|jpg|...         reads it; the same classes in both

Try it on one CPU, then on one machine with four GPUs, then as the command of an ElasticJob:

    python imagenet.py --arch small --image-size 8 --epochs 15 --output /tmp/run1 digits/
    spotrain-run --standalone --nproc-per-node 4 imagenet.py --arch resnet50 --output out data/
    spotrain-run imagenet.py --arch resnet50 --output /mnt/efs/output/run1 /mnt/efs/data/imagenet

Run again with the same --output, it goes on where the newest checkpoint ends. What is ours here is
`elastic`: workers may join, leave or die at any step, and every image still counts once an epoch.
"""

import argparse
import difflib
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Subset
from torchvision import models, transforms
from torchvision.datasets import ImageFolder

import spotrain.train as elastic

EXIT_USAGE = 2
SMALL = "small"
SMALL_IMAGE = 64
"""Pixels a side below which a random crop cuts away, and a flip turns round, what is to be seen."""
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""ImageNet's colour statistics; batch normalisation makes up for other sets'."""
LR_BATCH = 256
"""Images of all ranks in one step that --lr is meant for (Goyal et al., arXiv 1706.02677)."""
WARMUP_EPOCHS = 3
LOWEST = {"epochs": 1, "batch_size": 1, "workers": 0, "image_size": 8}
LOWEST |= {"lr": 0, "momentum": 0, "weight_decay": 0, "checkpoint_every": 0}


# --- Settings -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Config:
    """The command line: every field is an option, `data` the one argument."""

    data: Annotated[Path, "folder with train/ and val/, each with one folder per class"]
    arch: Annotated[str, f"a torchvision classification model, or {SMALL}"] = "resnet50"
    epochs: Annotated[int, "times that every image is seen"] = 90
    batch_size: Annotated[int, "images per rank and step"] = 64
    lr: Annotated[float, f"learning rate at {LR_BATCH} images a step; scales with them"] = 0.1
    momentum: Annotated[float, "of stochastic gradient descent"] = 0.9
    weight_decay: Annotated[float, "on weights; biases and normalisation have none"] = 1e-4
    workers: Annotated[int, "processes that load images for each rank; 0: the rank does it"] = 4
    image_size: Annotated[
        int, f"pixels a side; 0: 224, or 32 for {SMALL}; below {SMALL_IMAGE} no crops and flips"
    ] = 0
    checkpoint_every: Annotated[
        float, "seconds; 0: from what a checkpoint costs and how often work is lost"
    ] = 0.0
    output: Annotated[str, "folder that all workers share, s3:// or gs://; holds checkpoints/"] = (
        "output"
    )
    checkpoint_file: Annotated[
        str, "for commands of older scripts: its folder is the output, its name is not used"
    ] = ""
    seed: Annotated[int, "of the order of images and of the first weights"] = 0


def parse(arguments: list[str] | None = None) -> Config:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=layout, allow_abbrev=False
    )
    for name, kind in get_type_hints(Config, include_extras=True).items():
        convert, about = get_args(kind)
        if name == "data":
            parser.add_argument(name, type=convert, metavar="DATA", help=about)
        else:
            default = getattr(Config, name)
            flag = "--" + name.replace("_", "-")
            parser.add_argument(flag, type=convert, default=default, help=f"{about} (%(default)s)")
    values = vars(parser.parse_args(arguments))
    values["image_size"] = values["image_size"] or (32 if values["arch"] == SMALL else 224)
    for name, low in LOWEST.items():
        if not values[name] >= low:
            parser.error(f"--{name.replace('_', '-')} is {values[name]}, but must be {low} or more")
    known = [SMALL, *models.list_models(module=models)]
    if values["arch"] not in known:
        near = difflib.get_close_matches(values["arch"], known) or [SMALL, "resnet50"]
        parser.error(f"--arch is {values['arch']!r}, which is no model; near: {', '.join(near)}")
    if values["checkpoint_file"]:
        if values["output"] != Config.output:
            parser.error("--output and --checkpoint-file both name the output folder: give one")
        values["output"] = str(Path(values["checkpoint_file"]).parent)
    return Config(**values)


# --- Data ---------------------------------------------------------------------------------------


class DataError(Exception):
    """The data folder is not what this script can train on; the message is one line."""


def read_folders(config: Config) -> tuple[ImageFolder, ImageFolder]:
    """The training and validation sets; reads file names only, and those just once."""
    train_set = read_folder(config.data / "train", train_view(config.image_size))
    val_set = read_folder(config.data / "val", val_view(config.image_size))
    if train_set.classes != val_set.classes:
        odd = sorted(set(train_set.classes) ^ set(val_set.classes))
        raise DataError(
            f"{config.data}: train/ and val/ must have the same class folders, or labels would be "
            f"mixed up; only one of them has {', '.join(odd[:5])}{' ...' if odd[5:] else ''}"
        )
    return train_set, val_set


def read_folder(folder: Path, view: transforms.Compose) -> ImageFolder:
    expected = "expected one folder of images per class"
    if not folder.is_dir():
        raise DataError(f"{folder}: {expected}, found no such folder; DATA must hold train/, val/")
    if not any(entry.is_dir() for entry in folder.iterdir()):
        files = sum(1 for _ in folder.iterdir())
        raise DataError(f"{folder}: {expected}, found no class folder but {files} file(s)")
    try:
        return ImageFolder(str(folder), view)
    except FileNotFoundError as error:  # a class without images; its message runs over two lines
        found = str(error).split(". Supported")[0]
        raise DataError(f"{folder}: {expected}; {found[0].lower()}{found[1:]}") from error


def train_view(size: int) -> transforms.Compose:
    if size < SMALL_IMAGE:
        shift = transforms.RandomCrop(size, padding=max(1, size // 8))
        steps = [transforms.Resize((size, size)), shift]
    else:
        steps = [transforms.RandomResizedCrop(size), transforms.RandomHorizontalFlip()]
    return transforms.Compose([*steps, transforms.ToTensor(), transforms.Normalize(MEAN, STD)])


def val_view(size: int) -> transforms.Compose:
    if size < SMALL_IMAGE:
        steps = [transforms.Resize((size, size))]
    else:
        steps = [transforms.Resize(size * 256 // 224), transforms.CenterCrop(size)]
    return transforms.Compose([*steps, transforms.ToTensor(), transforms.Normalize(MEAN, STD)])


# --- Model --------------------------------------------------------------------------------------


def build_model(config: Config, classes: int) -> nn.Module:
    if config.arch == SMALL:
        return small_model(classes)
    options: dict[str, Any] = {"num_classes": classes}
    if config.arch.startswith("vit_"):
        options["image_size"] = config.image_size
    if config.arch in ("googlenet", "inception_v3"):
        options |= {"aux_logits": False, "init_weights": True}
    model: nn.Module = models.get_model(config.arch, **options)
    return model


def small_model(classes: int) -> nn.Module:
    """Four convolutions, 0.1 million weights: learns digits on a CPU core in seconds."""

    def block(inputs: int, outputs: int) -> list[nn.Module]:
        convolution = nn.Conv2d(inputs, outputs, kernel_size=3, padding=1, bias=False)
        return [convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]

    return nn.Sequential(
        *block(3, 32),
        *block(32, 32),
        nn.MaxPool2d(2),
        *block(32, 64),
        *block(64, 64),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * 4, classes),
    )


def build_optimizer(model: nn.Module, config: Config) -> torch.optim.SGD:
    """Weight decay on matrices only: on biases and normalisation it costs accuracy."""
    matrices = [weight for weight in model.parameters() if weight.ndim > 1]
    vectors = [weight for weight in model.parameters() if weight.ndim <= 1]
    groups = [
        {"params": matrices, "weight_decay": config.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.SGD(groups, lr=config.lr, momentum=config.momentum)


def lr_factor(epoch: int, epochs: int) -> float:
    """A short linear rise, then half a cosine down to almost zero in the last epoch."""
    warmup = min(WARMUP_EPOCHS, epochs // 5)
    if epoch < warmup:
        return (epoch + 1) / (warmup + 1)
    return 0.5 * (1 + math.cos(math.pi * (epoch - warmup) / (epochs - warmup)))


# --- Training -----------------------------------------------------------------------------------


def train(run: elastic.Run, config: Config, train_set: ImageFolder, val_set: ImageFolder) -> None:
    """Called with a run in its first world, and again after a loss, in the same process."""
    cuda = run.device.type == "cuda"
    layout = torch.channels_last if cuda else torch.contiguous_format
    plain = build_model(config, len(train_set.classes)).to(memory_format=layout)
    model = run.wrap(plain)
    optimizer = build_optimizer(model, config)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda epoch: lr_factor(epoch, config.epochs)
    )
    loader = run.loader(train_set, batch_size=config.batch_size, workers=config.workers)
    run.scale_lr(optimizer, "linear", reference_batch=LR_BATCH)
    run.track(model=model, optimizer=optimizer, scheduler=scheduler)
    for epoch in run.epochs(config.epochs):
        model.train()
        for images, labels in loader:
            images = images.to(run.device, memory_format=layout, non_blocking=True)
            labels = labels.to(run.device, non_blocking=True)
            with torch.autocast(run.device.type, dtype=torch.bfloat16, enabled=cuda):
                loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            run.step(loss=loss)
        scheduler.step()
        accuracy = validate(run, plain, val_set, config)
        run.log(accuracy=accuracy)
        if run.is_main:
            print(f"epoch {epoch + 1}/{config.epochs}: accuracy {accuracy:.4f}", flush=True)


@torch.no_grad()
def validate(run: elastic.Run, model: nn.Module, val_set: ImageFolder, config: Config) -> float:
    """Share of the validation images that all ranks together classify rightly, each image once."""
    cuda = run.device.type == "cuda"
    average_statistics(run, model)
    share = Subset(val_set, range(run.rank, len(val_set), run.world_size))
    loader: DataLoader[Any] = DataLoader(
        share, batch_size=config.batch_size, num_workers=config.workers, pin_memory=cuda
    )
    model.eval()
    right = torch.zeros((), dtype=torch.int64, device=run.device)
    for images, labels in loader:
        with torch.autocast(run.device.type, dtype=torch.bfloat16, enabled=cuda):
            scores = model(images.to(run.device, non_blocking=True))
        right += (scores.argmax(dim=1) == labels.to(run.device, non_blocking=True)).sum()
    return int(run.sum(right)) / len(val_set)


def average_statistics(run: elastic.Run, model: nn.Module) -> None:
    """Batch normalisation's running statistics differ from rank to rank: judge one model, not n."""
    if run.world_size > 1:
        for buffer in model.buffers():
            if buffer.is_floating_point():
                buffer.copy_(run.sum(buffer) / run.world_size)


def main(arguments: list[str] | None = None) -> int:
    config = parse(arguments)
    try:
        train_set, val_set = read_folders(config)  # before any process group waits for this rank
    except DataError as error:
        print(f"imagenet.py: {error}", file=sys.stderr)
        return EXIT_USAGE
    elastic.run(
        lambda run: train(run, config, train_set, val_set),
        output=config.output,
        seed=config.seed,
        checkpoint_seconds=config.checkpoint_every or None,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
