"""A small classifier of two points, trained by PyTorch Lightning: `lightning_session.py OUTPUT`.

    lightning_session.py OUTPUT [--pause SECONDS] [--epochs N]

Without --epochs it goes on until the file OUTPUT/enough is there. Writes OUTPUT/final.json.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import spotrain.train as elastic
from spotrain.train.lightning import ElasticStrategy

SAMPLES, BATCH, ACCUMULATED = 400, 2, 2

parser = argparse.ArgumentParser()
parser.add_argument("output", type=Path)
parser.add_argument("--pause", type=float, default=0.01)
parser.add_argument("--epochs", type=int, default=100_000)
options = parser.parse_args()


class Regression(L.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 4), nn.Tanh(), nn.Linear(4, 1))

    def training_step(self, batch: Any, _: int) -> torch.Tensor:
        time.sleep(options.pause)
        loss = self.error(batch)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch: Any, _: int) -> None:
        self.log("eval_loss", self.error(batch), sync_dist=True, batch_size=len(batch[0]))

    def error(self, batch: Any) -> torch.Tensor:
        x, y = batch
        return nn.functional.mse_loss(self.layers(x), y)

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.Adam(self.parameters(), lr=0.01)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.9)
        return [optimizer], [scheduler]


class Watch(L.Callback):
    """Counts validations, and ends training once the test says so."""

    def __init__(self) -> None:
        self.validations = 0

    def on_train_batch_end(self, trainer: L.Trainer, *_: Any) -> None:
        print(f"epoch {trainer.current_epoch} batch of {trainer.num_training_batches}", flush=True)

    def on_validation_end(self, trainer: L.Trainer, _: Any) -> None:
        if not trainer.sanity_checking:
            self.validations += 1
            enough = (options.output / "enough").exists()
            trainer.should_stop |= trainer.strategy.reduce_boolean_decision(enough, all=False)

    def state_dict(self) -> dict[str, Any]:
        return {"validations": self.validations}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.validations = state["validations"]


def train(run: elastic.Run) -> None:
    torch.set_num_threads(1)
    x = torch.randn(SAMPLES + 50, 8, generator=torch.Generator().manual_seed(1))
    data = TensorDataset(x, x.sum(1, keepdim=True).sin())
    train_set, val_set = torch.utils.data.random_split(
        data, [SAMPLES, 50], torch.Generator().manual_seed(2)
    )
    watch = Watch()
    trainer = L.Trainer(
        strategy=ElasticStrategy(run),
        callbacks=[watch],
        max_epochs=options.epochs,
        accumulate_grad_batches=ACCUMULATED,
        default_root_dir=options.output / "lightning",
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
    )
    model = Regression()
    trainer.fit(model, DataLoader(train_set, BATCH, shuffle=True), DataLoader(val_set, 8))
    if run.is_main:
        final = {
            "epochs": trainer.current_epoch,
            "steps": trainer.global_step,
            "evaluations": watch.validations,
            "eval_loss": float(trainer.callback_metrics["eval_loss"]),
            "weights": [float(w.detach().double().sum()) for w in model.parameters()],
            "lr": trainer.optimizers[0].param_groups[0]["lr"],
        }
        (options.output / "final.json").write_text(json.dumps(final))


elastic.run(train, output=options.output, checkpoint_seconds=0.5)
