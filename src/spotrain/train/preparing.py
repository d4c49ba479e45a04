"""The part of a run that prepares training: models, data and what is kept of them."""

from typing import Any

import torch
from torch import nn
from torch.utils.data import Dataset

from spotrain.train.batching import choose
from spotrain.train.keeper import Keeper
from spotrain.train.learning_rate import Rule, find_rule, scale_each_step
from spotrain.train.loader import ElasticLoader
from spotrain.train.parallel import BuildReplica, Elastic, Shard, data_parallel
from spotrain.train.place import Placed
from spotrain.train.restoring import Tracked
from spotrain.train.usage import UsageError, require_restorable, size_of


class Preparing(Placed):
    """What a training function calls before its first step, as `spotrain.train.Run` shows it."""

    _keeper: Keeper

    def wrap(
        self,
        model: nn.Module,
        build_replica: BuildReplica | None = None,
        *,
        shard: Shard | None = None,
    ) -> Elastic:
        """Move a model to the device and keep it in step with the other ranks.

        `build_replica` makes the parallel form of the model in each world it is called for;
        DistributedDataParallel by default. `shard` spreads the model over the ranks instead, with
        FSDP2's `fully_shard`: make the optimizer afterwards.
        """
        if self._keeper.tracked:
            raise UsageError("run.wrap came after run.track: wrap every model before tracking it")
        if shard and build_replica:
            raise UsageError("run.wrap was given shard and build_replica: a model has one of them")
        model = model.to(self.device)
        if shard:
            shard(model)
        elif build_replica is None:
            build_replica = data_parallel(self.device)
        elastic = Elastic(model, build_replica, lambda: self._position.ends_step)
        self.membership.models.append(elastic)
        return elastic

    def loader(
        self,
        dataset: Dataset[Any],
        *,
        batch_size: int | None = None,
        accumulate: int = 1,
        global_batch: int | None = None,
        micro_batch: int | None = None,
        workers: int = 0,
        shuffle: bool = True,
        drop_last: bool = False,
        **options: Any,
    ) -> ElasticLoader:
        """The training set's batches, every sample once an epoch across all changes of worlds.

        How large a step is, is said in one of two ways. `batch_size` samples of each rank, or
        `accumulate` times as many: a larger world takes larger steps. Or `global_batch` samples
        of all ranks, in batches of at most `micro_batch`: the same steps in a world of any size.
        `options` go to torch's DataLoader.
        """
        if self._position.size is not None:
            raise UsageError(
                "run.loader was called twice: one position in one data set is kept. Put several "
                "sets together with torch.utils.data.ConcatDataset; evaluate with a DataLoader."
            )
        size = size_of(dataset)
        batching = choose(
            batch_size=batch_size,
            accumulate=accumulate,
            global_batch=global_batch,
            micro_batch=micro_batch,
            size=size,
        )
        self._position.size, self._position.batching = size, batching
        self._position.drop_last = drop_last
        options.setdefault("pin_memory", self.device.type == "cuda")
        return ElasticLoader(
            dataset,
            self._position,
            batching,
            shuffle=shuffle,
            drop_last=drop_last,
            options={"num_workers": workers, **options},
        )

    def scale_lr(
        self, optimizer: torch.optim.Optimizer, rule: str | Rule, *, reference_batch: int
    ) -> None:
        """Let the learning rate follow the number of samples in a step, which grows with the world.

        `rule`: "linear", "sqrt", or a function from (samples of a step / `reference_batch`) to the
        factor. `reference_batch`: samples of all ranks for which the optimizer's own rate is meant.
        The factor is there during `optimizer.step` only: schedulers and checkpoints do not see it.
        """
        scale, batching = find_rule(rule), self._position.batching
        if batching is None:
            raise UsageError("run.scale_lr came before run.loader, which says how large a step is")
        if batching.is_global:
            raise UsageError(
                f"run.scale_lr contradicts global_batch={batching.global_batch}: steps of one size "
                "need no other rate in a larger world. Give the optimizer the right one."
            )
        scale_each_step(
            optimizer, lambda: scale(batching.step_samples(self.world_size) / reference_batch)
        )

    def track(self, **objects: Tracked) -> None:
        """Name what a checkpoint holds, beside position and random state; restores the newest one.

        Each object has state_dict and load_state_dict. Collective: every rank calls it once.
        """
        if self._keeper.tracked:
            raise UsageError("run.track was called twice: name everything in one call")
        require_restorable(objects)
        plain = {n: o.module if isinstance(o, Elastic) else o for n, o in objects.items()}
        self._keeper.track(plain)
        self.membership.settle()
