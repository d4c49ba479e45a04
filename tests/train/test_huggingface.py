"""Hugging Face's own counters and schedules across an interruption, and what is refused."""

import gc
import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import Dataset, IterableDataset, WeightedRandomSampler

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

SAMPLES, BATCH, ACCUMULATED = 40, 4, 2
STEPS = SAMPLES // BATCH // ACCUMULATED
"""In an epoch."""
LAST = STEPS + 2
EPOCHS = 3
RATE = 0.1

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.timeout(900),  # the first import of transformers, on a busy machine
    pytest.mark.skipif(
        importlib.util.find_spec("transformers") is None,
        reason="the extra `transformers` is not installed",
    ),
]


@pytest.fixture(scope="module", autouse=True)
def imported() -> Iterator[None]:
    """The Trainer collects garbage each time it begins: not all that it has imported."""
    importlib.import_module("spotrain.train.huggingface")
    gc.freeze()
    yield
    gc.unfreeze()


class Rows(Dataset[dict[str, torch.Tensor]]):
    def __init__(self) -> None:
        self.x = torch.randn(SAMPLES, 4, generator=torch.Generator().manual_seed(1))

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        return {"x": self.x[number], "labels": self.x[number].sum(0, keepdim=True)}


class Endless(IterableDataset):  # type: ignore[type-arg]
    def __iter__(self) -> Iterator[dict[str, torch.Tensor]]:
        return iter(Rows()[number] for number in range(SAMPLES))


class Line(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"loss": nn.functional.mse_loss(self.layer(x), labels)}


def trainer_of(run: elastic.Run, output: Path, data: Any = None, **arguments: Any) -> Any:
    from transformers import TrainingArguments

    from spotrain.train.huggingface import ElasticTrainer

    given = TrainingArguments(
        output_dir=str(output / "trainer"),
        per_device_train_batch_size=BATCH,
        gradient_accumulation_steps=ACCUMULATED,
        learning_rate=RATE,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        **arguments,
    )
    return ElasticTrainer(run, model=Line(), args=given, train_dataset=data or Rows())


class TrainerTraining(Training):
    def __init__(self, output: Path, **arguments: Any) -> None:
        super().__init__(output, **arguments)
        self.schedule: dict[str, Any] = {}

    def train(self, run: elastic.Run, notice_at: int | None) -> None:
        from transformers import TrainerCallback

        updates = self.updates

        class Watch(TrainerCallback):  # type: ignore[misc]
            def on_pre_optimizer_step(
                self, args: Any, state: Any, control: Any, **has: Any
            ) -> None:
                rate = has["optimizer"].param_groups[0]["lr"]
                updates.append((state.global_step + 1, rate))

            def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                if state.global_step == notice_at:
                    notice()

        trainer = trainer_of(run, self.output, **self.arguments)
        trainer.add_callback(Watch())
        trainer.train()
        self.schedule = trainer.lr_scheduler.state_dict()
        self.weights = nn.utils.parameters_to_vector(trainer.model.parameters()).detach()


BY_EPOCHS = {"num_train_epochs": EPOCHS, "lr_scheduler_type": "linear", "warmup_steps": 3}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> TrainerTraining:
    training = TrainerTraining(tmp_path_factory.mktemp("undisturbed"), **BY_EPOCHS)
    assert training.start() == 0
    return training


@pytest.mark.parametrize("step", [3, STEPS, STEPS + 1])
def test_the_schedule_goes_on_where_it_was(
    tmp_path: Path, undisturbed: TrainerTraining, step: int
) -> None:
    training = TrainerTraining(tmp_path, **BY_EPOCHS)
    assert training.start(notice_at=step) == NOTICED
    assert training.updates == undisturbed.updates[:step]
    assert training.start() == 0
    assert training.updates == undisturbed.updates
    assert training.schedule == undisturbed.schedule
    assert torch.equal(training.weights, undisturbed.weights)
    whole = STEPS * EPOCHS
    for number, rate in training.updates:
        done = number - 1
        assert rate == pytest.approx(RATE * min(done / 3, (whole - done) / (whole - 3)))


@pytest.mark.parametrize("step", [3, STEPS, STEPS + 1])
def test_max_steps_is_reached_once_whatever_came_between(tmp_path: Path, step: int) -> None:
    training = TrainerTraining(tmp_path, max_steps=LAST)
    reaches_last_step_once(training, last=LAST, notice_at=step)


def test_a_notice_at_the_last_step_of_all_lets_training_end(tmp_path: Path) -> None:
    ends_at_last_step_in_spite_of_notice(TrainerTraining(tmp_path, max_steps=LAST), last=LAST)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(
            {"resume_from_checkpoint": True},
            "resume_from_checkpoint=True.*Leave it out",
            id="resume",
        ),
        pytest.param({"data": Endless(), "max_steps": 3}, "Endless has no length", id="no-length"),
        pytest.param(
            {"train_sampling_strategy": "group_by_length"}, "whose order cannot be", id="by-length"
        ),
        pytest.param(
            {"auto_find_batch_size": True}, "auto_find_batch_size.*smaller", id="batch-size"
        ),
        pytest.param({"fsdp": True}, "fsdp.*not covered", id="fsdp"),
    ],
)
def test_what_could_not_be_resumed_exactly_is_refused(
    tmp_path: Path, arguments: dict[str, Any], said: str
) -> None:
    def train(run: elastic.Run) -> None:
        others = dict(arguments)
        asked = {name: others.pop(name) for name in ("resume_from_checkpoint",) if name in others}
        trainer_of(run, tmp_path, **others).train(**asked)

    with pytest.raises(UsageError, match=said):
        train_alone(train, tmp_path)
    assert not list(tmp_path.rglob("*.bin"))  # and nothing was begun


def test_a_sampler_of_ones_own_is_refused(tmp_path: Path) -> None:
    def train(run: elastic.Run) -> None:
        trainer = trainer_of(run, tmp_path)
        trainer._get_train_sampler = lambda _: WeightedRandomSampler([1.0] * SAMPLES, SAMPLES)
        trainer.train()

    with pytest.raises(UsageError, match="WeightedRandomSampler, whose order cannot be"):
        train_alone(train, tmp_path)
