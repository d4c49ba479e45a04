"""The Trainer whose worlds may change, and what it reports."""

import sys
from typing import Any

from accelerate.state import GradientState
from torch.utils.data import DataLoader
from transformers import Trainer, TrainerCallback, TrainingArguments

from spotrain.train import given_loader
from spotrain.train.huggingface.batches import Batches
from spotrain.train.huggingface.refusal import require_elastic
from spotrain.train.huggingface.state import State, move_schedule
from spotrain.train.session import Run
from spotrain.train.usage import UsageError


class ElasticTrainer(Trainer):
    """A Trainer inside of a function that `elastic.run` calls.

    Training goes on from the run's newest checkpoint, in the midst of an epoch where it has to.
    `max_steps` counts optimizer steps over all worlds. Where `num_train_epochs` decides, each world
    has its own number of steps left, and the learning rate's schedule stays where the share of the
    data says. For a subclass of Trainer: `class MyElasticTrainer(ElasticTrainer, MyTrainer)`.

    Raises:
        UsageError: training was told to go on from another checkpoint, its data set is one whose
            position cannot be resumed exactly, or an argument is refused (see `refusal`).
    """

    def __init__(
        self, run: Run, model: Any = None, args: TrainingArguments | None = None, **others: Any
    ) -> None:
        args = args or TrainingArguments(output_dir="tmp_trainer")
        require_elastic(args)
        run.membership.in_place = False
        _enter_world(run, args)
        super().__init__(model, args, **others)
        self._run = run
        self._batches: Batches
        self._prepared: tuple[Any, Any]
        self.add_callback(_Reports(run))

    def train(self, resume_from_checkpoint: Any = None, **others: Any) -> Any:
        if resume_from_checkpoint:
            raise UsageError(
                f"train(resume_from_checkpoint={resume_from_checkpoint!r}): training goes on from "
                "the newest checkpoint in the run's output. Leave it out; to begin from other "
                "weights, load them into the model"
            )
        return super().train(**others)

    # --- What Trainer's loop calls, in its order -------------------------------------------------

    def get_train_dataloader(self) -> Any:
        """The training set's batches in exact order; reads what Trainer would have made of it."""
        given = super().get_train_dataloader()
        plain: DataLoader[Any] = DataLoader(
            given.dataset,
            batch_size=self._train_batch_size,
            sampler=self._get_train_sampler(self.train_dataset),
            drop_last=self.args.dataloader_drop_last,
            collate_fn=given.collate_fn,
            num_workers=given.num_workers,
            prefetch_factor=given.prefetch_factor if given.num_workers else None,
            pin_memory=given.pin_memory and self._run.device.type == "cuda",
            worker_init_fn=given.worker_init_fn,
        )
        length = given_loader.steps_of_an_epoch(self._run, plain)
        exact = given_loader.exact_training(self._run, plain)
        self._batches = Batches(self._run, self, exact, length)
        return self._batches

    def set_initial_training_values(self, args: TrainingArguments, dataloader: Any) -> Any:
        values = super().set_initial_training_values(args, dataloader)
        # How many epochs `max_steps` take depends on worlds to come: the step itself will end it.
        return (sys.maxsize, *values[1:]) if args.max_steps > 0 else values

    def _init_training_state(
        self, max_steps: int, updates_per_epoch: int, epochs: int, resume: Any, trial: Any
    ) -> tuple[int, int]:
        """The newest checkpoint's state, and the epoch in progress.

        What comes next in Trainer's loop, `_prepare_for_training`, makes the objects that a
        checkpoint is loaded into; so it is done here first.
        """
        super()._init_training_state(max_steps, updates_per_epoch, epochs, None, trial)
        self._prepared = super()._prepare_for_training(max_steps, self._batches, None)
        state = State(self, updates_per_epoch)
        tracked = {"model": self.model, "optimizer": self.optimizer}
        tracked |= {"scheduler": self.lr_scheduler, "trainer": state}
        if self.accelerator.scaler is not None:
            tracked["scaler"] = self.accelerator.scaler
        self._run.track(**tracked)
        epoch, left = self._batches.resume()
        if self.args.max_steps <= 0:
            updates_left = -(-left // self.args.gradient_accumulation_steps)
            done = (epoch + 1) * updates_per_epoch - updates_left
            if state.updates_per_epoch != updates_per_epoch:
                move_schedule(self.lr_scheduler, done)
            max_steps = self.state.global_step + max_steps - done
        self.state.init_training_references(self, max_steps, epochs, trial)
        if 0 < self.args.max_steps <= self.state.global_step:
            return epochs, 0  # else Trainer, which looks after each step, would take one more
        return epoch, 0

    def _prepare_for_training(self, *_: Any, **__: Any) -> tuple[Any, Any]:
        return self._prepared

    def _run_epoch(self, *, epoch: int, **others: Any) -> None:
        """One epoch, or what other worlds have left of it."""
        steps = self._batches.begin(epoch)
        updates = -(-steps // self.args.gradient_accumulation_steps)
        others |= {"steps_in_epoch": steps, "num_update_steps_per_epoch": updates}
        super()._run_epoch(epoch=epoch, **others)

    def _finalize_training(self, *arguments: Any, **others: Any) -> Any:
        self._batches.end()
        return super()._finalize_training(*arguments, **others)


class _Reports(TrainerCallback):
    def __init__(self, run: Run) -> None:
        self._run = run

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        state.epoch = others["train_dataloader"].share_done(state.epoch)

    def on_log(self, args: Any, state: Any, control: Any, *, logs: Any = None, **_: Any) -> None:
        numbers = {name: n for name, n in (logs or {}).items() if isinstance(n, int | float)}
        self._run.log(**numbers)


def _enter_world(run: Run, args: TrainingArguments) -> None:
    """Let accelerate look where this process is: it remembers the world that it saw first."""
    args.use_cpu = run.device.type == "cpu"
    args.__dict__.pop("_setup_devices", None)
    GradientState._reset_state()
    args._setup_devices  # noqa: B018  resets the rest, so it must not come after the Accelerator
