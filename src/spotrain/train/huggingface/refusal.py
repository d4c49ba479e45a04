"""Arguments of a Trainer that would lose exactness or work, refused before anything is done."""

from typing import Any, Final

from transformers import TrainingArguments

from spotrain.train.usage import UsageError

ORDERS: Final = ("random", "sequential")
PARALLEL: Final = ("deepspeed", "fsdp", "parallelism_config")


def require_elastic(args: TrainingArguments) -> None:
    """
    Raises:
        UsageError: names the argument, why it cannot be had, and what to write instead.
    """
    strategy: Any = args.train_sampling_strategy
    if strategy not in ORDERS:
        raise UsageError(
            f"train_sampling_strategy={strategy!r}, whose order cannot be resumed in another "
            f"world: give one of {', '.join(map(repr, ORDERS))}"
        )
    if args.auto_find_batch_size:
        raise UsageError(
            "auto_find_batch_size=True begins anew with smaller batches when memory runs out, and "
            "each rank would do so by itself: give a per_device_train_batch_size that fits, and "
            "gradient_accumulation_steps for larger steps"
        )
    for name in PARALLEL:
        if asked := getattr(args, name):
            raise UsageError(
                f"{name}={asked!r} is not covered: its shards belong to the world that made them. "
                "Leave it out for data parallelism, or write the loop with run.wrap(shard=...)"
            )
