"""What a torch DataLoader that a framework was given asks for, and its exact form.

A framework's users write the DataLoader that one process would use. Which samples are whose is
decided here, once, for training and for evaluation.
"""

from typing import Any, Final

from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler
from torch.utils.data.distributed import DistributedSampler

from spotrain.train.loader import ElasticLoader
from spotrain.train.sampler import ElasticBatchSampler
from spotrain.train.session import Run
from spotrain.train.usage import UsageError, size_of

OPTIONS: Final = (
    "collate_fn",
    "generator",
    "in_order",
    "multiprocessing_context",
    "num_workers",
    "pin_memory",
    "prefetch_factor",
    "timeout",
    "worker_init_fn",
)
"""What is taken over as it is. Workers do not persist: each epoch, each world has its own."""


def exact_training(run: Run, given: DataLoader[Any]) -> ElasticLoader:
    """The loader of a training set, from the run's position on.

    Raises:
        UsageError: the order of the samples is not one that can be resumed exactly.
    """
    size_of(given.dataset)  # of what is wrong with a stream this says most
    return run.loader(
        given.dataset,
        batch_size=_batch_size(given),
        shuffle=_is_shuffled(given),
        drop_last=given.drop_last,
        **_options(given),
    )


def exact_evaluation(run: Run, given: DataLoader[Any]) -> DataLoader[Any]:
    """This rank's share of an evaluation set: every sample once, as many batches on every rank.

    torch's DistributedSampler repeats samples instead, and so the metrics of one model would depend
    on the number of ranks. Loaders with an order of their own stay as they are.
    """
    if given.batch_size is None or not isinstance(given.sampler, SequentialSampler):
        return given
    sampler = ElasticBatchSampler(
        size_of(given.dataset),
        batch_size=given.batch_size,
        rank=run.rank,
        world_size=run.world_size,
        seed=0,
        epoch=0,
        shuffle=False,
        drop_last=given.drop_last,
    )
    return DataLoader(given.dataset, batch_sampler=sampler, **_options(given))


def steps_of_an_epoch(run: Run, given: DataLoader[Any]) -> int:
    """Batches of each rank in a whole epoch of the present world."""
    sampler = ElasticBatchSampler(
        size_of(given.dataset),
        batch_size=_batch_size(given),
        rank=run.rank,
        world_size=run.world_size,
        seed=0,
        epoch=0,
        drop_last=given.drop_last,
    )
    return len(sampler)


def _batch_size(given: DataLoader[Any]) -> int:
    if given.batch_size is None or type(given.batch_sampler) is not BatchSampler:
        raise UsageError(
            f"the training loader has {given.batch_sampler!r}: which samples make a batch depends "
            "on the world, so give a DataLoader with batch_size (of one rank) and shuffle instead"
        )
    return given.batch_size


def _is_shuffled(given: DataLoader[Any]) -> bool:
    sampler = given.sampler
    if isinstance(sampler, RandomSampler) and not sampler.replacement:
        return True
    if isinstance(sampler, DistributedSampler):
        return sampler.shuffle
    if isinstance(sampler, SequentialSampler):
        return False
    raise UsageError(
        f"the training loader has {type(sampler).__name__}, whose order cannot be resumed in "
        "another world: give a DataLoader with shuffle=True or shuffle=False instead"
    )


def _options(given: DataLoader[Any]) -> dict[str, Any]:
    options = {name: getattr(given, name) for name in OPTIONS}
    if options["num_workers"] == 0:
        del options["prefetch_factor"], options["multiprocessing_context"]
    return options
