"""The strategy that makes a Lightning trainer elastic: DistributedDataParallel in each world."""

from typing import Any

import torch
from lightning.pytorch import Trainer
from lightning.pytorch.strategies import DDPStrategy
from lightning.pytorch.trainer.states import TrainerFn
from torch.utils.data import DataLoader, IterableDataset

from spotrain.train import given_loader
from spotrain.train.lightning.environment import WorldEnvironment
from spotrain.train.lightning.launcher import InPlace
from spotrain.train.lightning.loader import LightningLoader, Steps
from spotrain.train.lightning.state import TrainerState
from spotrain.train.loader import ElasticLoader
from spotrain.train.session import Run
from spotrain.train.usage import UsageError, size_of


class ElasticStrategy(DDPStrategy):
    """`Trainer(strategy=ElasticStrategy(run))` inside of a function that `elastic.run` calls.

    Training goes on from the run's newest checkpoint, in the midst of an epoch where it has to:
    Lightning's whole state comes back. Training batches come from the run, so the DataLoader is
    written as for one process, and no DistributedSampler is added; evaluation sees every sample
    once. What is logged reaches the job's progress. `options` go to DistributedDataParallel.

    Raises:
        UsageError: `fit` was told to go on from another checkpoint, or has no loader that could
            be resumed exactly.
    """

    def __init__(self, run: Run, **options: Any) -> None:
        super().__init__(cluster_environment=WorldEnvironment(run), **options)
        run.membership.in_place = False
        self._run = run
        self._trainer: Trainer | None = None
        self._steps: Steps | None = None
        self._batches: ElasticLoader | None = None
        self._own_reload: int | None = None

    @property
    def root_device(self) -> torch.device:
        return self._run.device

    @property
    def distributed_sampler_kwargs(self) -> dict[str, Any]:
        return {"num_replicas": self._run.world_size, "rank": self._run.rank}

    def _configure_launcher(self) -> None:
        self._launcher = InPlace()

    def setup(self, trainer: Trainer) -> None:
        """Lightning's setup, then what the newest checkpoint holds.

        The first checkpoint needs optimizers, and they are made here; so restoring comes later than
        Lightning's own, which reads a file before.
        """
        fits = trainer.state.fn is TrainerFn.FITTING
        self._trainer, self._steps = trainer, Steps(self._run, trainer) if fits else None
        trainer._accelerator_connector.use_distributed_sampler = False
        super().setup(trainer)
        if fits:
            self._restore(trainer)

    def process_dataloader(self, dataloader: object) -> object:
        """A loader as the user wrote it, in its exact form."""
        trainer = self._trainer
        if trainer is None or not isinstance(dataloader, DataLoader) or trainer.predicting:
            return dataloader
        if trainer.training:
            return self._training(trainer, dataloader)
        if isinstance(dataloader.dataset, IterableDataset):
            return dataloader
        return given_loader.exact_evaluation(self._run, dataloader)

    def on_train_start(self) -> None:
        """Give SIGTERM back: Lightning would leave at once, with all that was done unsaved."""
        assert self._trainer is not None
        self._trainer._signal_connector.teardown()

    def on_validation_end(self) -> None:
        """The last of the hooks: what validation has logged is complete."""
        assert self._trainer is not None
        if not self._trainer.sanity_checking:
            self._run.log(**self._trainer.callback_metrics)

    def on_train_end(self) -> None:
        """The last of the hooks: the state that the run saves at its end is complete."""
        assert self._trainer is not None
        if self._steps is not None:
            self._steps.end()
        self._run.log(**self._trainer.callback_metrics)

    def teardown(self) -> None:
        super().teardown()
        self._trainer = None  # no circle keeps the model of a lost world in memory

    def _restore(self, trainer: Trainer) -> None:
        loop = trainer.fit_loop
        loop.setup_data()  # a position means nothing without the size of its data set
        if self._batches is None and loop.max_batches:
            raise UsageError(
                "trainer.fit was given no DataLoader to train on, and only the position in one can "
                "be resumed exactly: wrap the data in torch.utils.data.DataLoader"
            )
        if loop._combined_loader and (given := len(loop._combined_loader.flattened)) > 1:
            raise UsageError(
                f"trainer.fit was given {given} DataLoaders to train on, and one position in one "
                "data set is kept: put the sets together with torch.utils.data.ConcatDataset"
            )
        self._run.track(trainer=TrainerState(trainer))
        loop._combined_loader = None  # set up again, from the position that was restored

    def _training(self, trainer: Trainer, given: DataLoader[Any]) -> LightningLoader:
        if self._own_reload is not None:
            trainer.reload_dataloaders_every_n_epochs, self._own_reload = self._own_reload, None
        if self._batches is None:
            self._batches = given_loader.exact_training(self._run, given)
        before, now = size_of(self._batches.dataset), size_of(given.dataset)
        if before != now:
            raise UsageError(
                f"a training set of {before} samples was followed by one of {now}: one position in "
                "one data set is kept. Put several together with torch.utils.data.ConcatDataset"
            )
        self._batches.dataset = given.dataset
        assert self._steps is not None
        done = trainer.fit_loop.batch_idx + 1
        if not (trainer.fit_loop.restarting and done):
            length = given_loader.steps_of_an_epoch(self._run, given)
            return LightningLoader(self._batches, self._steps, length)
        # Only this epoch has this length; Lightning looks again where it reloads the loaders.
        self._own_reload = trainer.reload_dataloaders_every_n_epochs
        trainer.reload_dataloaders_every_n_epochs = 1
        return LightningLoader(self._batches, self._steps, done + len(self._batches))
