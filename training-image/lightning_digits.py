"""Train a PyTorch Lightning module on a folder of small images, on nodes that come and go.

    DATA/train/<class>/*.png               one folder per class, as torchvision's ImageFolder
    DATA/val/<class>/*.png                 reads it; `make demo` writes such a folder of digits

Try it on one CPU, then on one machine with two processes, then as the command of an ElasticJob, in
an image that has Lightning (--build-arg FRAMEWORKS=lightning):

    python lightning_digits.py --epochs 5 --output /tmp/run1 digits/
    spotrain-run --standalone --nproc-per-node 2 lightning_digits.py --output out digits/
    spotrain-run lightning_digits.py --output /mnt/efs/output/run1 /mnt/efs/data/digits

Run again with the same --output, it goes on where the newest checkpoint ends. What is ours here is
`elastic.run` and `ElasticStrategy`; the module and its data know nothing of either.
"""

import argparse
from pathlib import Path
from typing import Any

import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

import spotrain.train as elastic
from spotrain.train.lightning import ElasticStrategy

SIDE = 8
"""Pixels a side of the handwritten digits."""


class Digits(L.LightningModule):
    """Two convolutions; logs the loss of each step, and loss and accuracy of each epoch."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 32, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 64, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(64 * SIDE * SIDE, classes),
        )

    def training_step(self, batch: Any, _: int) -> torch.Tensor:
        images, labels = batch
        loss = F.cross_entropy(self.layers(images), labels)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch: Any, _: int) -> None:
        images, labels = batch
        scores = self.layers(images)
        accuracy = (scores.argmax(dim=1) == labels).float().mean()
        logged = {"val_loss": F.cross_entropy(scores, labels), "val_accuracy": accuracy}
        # The mean over the samples of all ranks, not over rank 0's.
        self.log_dict(logged, sync_dist=True, batch_size=len(labels))

    def on_validation_epoch_end(self) -> None:
        if self.trainer.is_global_zero and not self.trainer.sanity_checking:  # once, not per rank
            accuracy = float(self.trainer.callback_metrics["val_accuracy"])
            print(f"epoch {self.current_epoch + 1}: accuracy {accuracy:.4f}", flush=True)

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.AdamW(self.parameters(), lr=2e-3)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.7)
        return [optimizer], [schedule]


def parse() -> argparse.Namespace:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("data", type=Path, metavar="DATA", help="folder with train/ and val/")
    parser.add_argument("--epochs", type=int, default=10, help="times that every image is seen")
    parser.add_argument("--batch-size", type=int, default=16, help="images per rank and step")
    parser.add_argument(
        "--output", default="output", help="folder that all workers share, s3:// or gs://"
    )
    return parser.parse_args()


def main() -> None:
    options = parse()
    view = transforms.Compose([transforms.Grayscale(), transforms.ToTensor()])
    train_set = ImageFolder(str(options.data / "train"), view)
    val_set = ImageFolder(str(options.data / "val"), view)

    def train(run: elastic.Run) -> None:
        trainer = L.Trainer(
            strategy=ElasticStrategy(run),
            max_epochs=options.epochs,
            logger=False,
            enable_checkpointing=False,  # the run keeps checkpoints; Lightning's own are not fenced
            enable_progress_bar=False,
        )
        trainer.fit(
            Digits(classes=len(train_set.classes)),
            DataLoader(train_set, options.batch_size, shuffle=True),
            DataLoader(val_set, 64),
        )

    elastic.run(train, output=options.output)


if __name__ == "__main__":
    main()
