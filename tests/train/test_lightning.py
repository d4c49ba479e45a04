"""PyTorch Lightning's own counters and schedules across an interruption, and what is refused."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import (
    DataLoader,
    IterableDataset,
    TensorDataset,
    WeightedRandomSampler,
)

import spotrain.train as elastic
from spotrain.train.usage import UsageError
from tests.train.alone import (
    NOTICED,
    Training,
    ends_at_last_step_in_spite_of_notice,
    notice,
    reaches_last_step_once,
    train_alone,
)

L = pytest.importorskip("lightning", reason="the extra `lightning` is not installed")
from spotrain.train.lightning import ElasticStrategy  # noqa: E402

SAMPLES, BATCH, ACCUMULATED = 40, 4, 2
STEPS = SAMPLES // BATCH // ACCUMULATED
"""In an epoch."""
LAST = STEPS + 2
EPOCHS = 3

pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning warns of what a tiny example lacks


class Line(L.LightningModule):  # type: ignore[misc, name-defined]
    """With one schedule that moves with each step, and one with each epoch."""

    def __init__(self, updates: list[tuple[int, float]], notice_at: int | None) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)
        self._updates, self._notice_at = updates, notice_at

    def training_step(self, batch: Any, _: int) -> torch.Tensor:
        (x,) = batch
        return nn.functional.mse_loss(self.layer(x), x.sum(1, keepdim=True))

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.Adam(self.parameters(), lr=0.1)
        each_step = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
        each_epoch = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
        return [optimizer], [{"scheduler": each_step, "interval": "step"}, each_epoch]

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        self._updates.append((self.global_step + 1, optimizer.param_groups[0]["lr"]))

    def on_train_batch_end(self, *_: Any) -> None:
        if self.global_step == self._notice_at:
            notice()


class LightningTraining(Training):
    def train(self, run: elastic.Run, notice_at: int | None) -> None:
        x = torch.randn(SAMPLES, 4, generator=torch.Generator().manual_seed(1))
        model = Line(self.updates, notice_at)
        trainer = trainer_of(run, accumulate_grad_batches=ACCUMULATED, **self.arguments)
        trainer.fit(model, DataLoader(TensorDataset(x), BATCH, shuffle=True))
        self.weights = nn.utils.parameters_to_vector(model.parameters()).detach()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> LightningTraining:
    training = LightningTraining(tmp_path_factory.mktemp("undisturbed"), max_epochs=EPOCHS)
    assert training.start() == 0
    return training


@pytest.mark.parametrize("step", [1, 3, STEPS, STEPS + 1, 2 * STEPS])
def test_schedules_that_step_by_batch_and_by_epoch_go_on_where_they_were(
    tmp_path: Path, undisturbed: LightningTraining, step: int
) -> None:
    training = LightningTraining(tmp_path, max_epochs=EPOCHS)
    assert training.start(notice_at=step) == NOTICED
    assert training.updates == undisturbed.updates[:step]
    assert training.start() == 0
    assert training.updates == undisturbed.updates
    assert torch.equal(training.weights, undisturbed.weights)
    for number, rate in training.updates:
        done, epochs = number - 1, (number - 1) // STEPS
        assert rate == pytest.approx(0.1 * 0.99**done * 0.5**epochs)


@pytest.mark.parametrize("step", [3, STEPS, STEPS + 1])
def test_max_steps_is_reached_once_whatever_came_between(tmp_path: Path, step: int) -> None:
    training = LightningTraining(tmp_path, max_steps=LAST)
    reaches_last_step_once(training, last=LAST, notice_at=step)


def test_a_notice_at_the_last_step_of_all_lets_training_end(tmp_path: Path) -> None:
    ends_at_last_step_in_spite_of_notice(LightningTraining(tmp_path, max_steps=LAST), last=LAST)


def trainer_of(run: elastic.Run, **arguments: Any) -> Any:
    return L.Trainer(
        strategy=ElasticStrategy(run),
        **{"enable_checkpointing": False, **arguments},
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )


class Endless(IterableDataset):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        return iter(torch.ones(8, 4))


def loader(**options: Any) -> DataLoader[Any]:
    return DataLoader(TensorDataset(torch.ones(8, 4)), **options)


@pytest.mark.parametrize(
    ("fit", "said"),
    [
        pytest.param(
            {"train_dataloaders": loader(batch_size=4), "ckpt_path": "last"},
            "ckpt_path='last'.*Leave ckpt_path out",
            id="another-checkpoint",
        ),
        pytest.param(
            {"train_dataloaders": [torch.ones(2, 4)]},
            "no DataLoader to train on.*wrap the data",
            id="no-loader",
        ),
        pytest.param(
            {"train_dataloaders": DataLoader(Endless(), batch_size=4)},
            "Endless has no length",
            id="no-length",
        ),
        pytest.param(
            {"train_dataloaders": loader(sampler=WeightedRandomSampler([1.0] * 8, 8))},
            "WeightedRandomSampler, whose order cannot be resumed",
            id="sampler",
        ),
        pytest.param(
            {"train_dataloaders": loader(batch_sampler=[[0, 1], [2]])},
            "which samples make a batch depends on the world",
            id="batch-sampler",
        ),
        pytest.param(
            {"train_dataloaders": loader(batch_size=None)},
            "give a DataLoader with batch_size",
            id="no-batches",
        ),
        pytest.param(
            {"train_dataloaders": {"a": loader(batch_size=4), "b": loader(batch_size=4)}},
            "2 DataLoaders.*ConcatDataset",
            id="two-loaders",
        ),
    ],
)
def test_what_could_not_be_resumed_exactly_is_refused(
    tmp_path: Path, fit: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        train_alone(lambda run: trainer_of(run).fit(Line([], None), **fit), tmp_path)
    assert not list(tmp_path.rglob("*.bin"))  # and nothing was begun


def test_a_checkpoint_at_a_worlds_end_is_refused(tmp_path: Path) -> None:
    def train(run: elastic.Run) -> None:
        on_exception = L.pytorch.callbacks.OnExceptionCheckpoint(tmp_path)
        trainer = trainer_of(run, callbacks=[on_exception], enable_checkpointing=True)
        trainer.fit(Line([], None), loader(batch_size=4))

    with pytest.raises(UsageError, match="Leave it out: the run saves"):
        train_alone(train, tmp_path)
