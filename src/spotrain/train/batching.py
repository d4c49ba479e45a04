"""How many samples a step takes in a world of any size, and how they are dealt out."""

from collections.abc import Iterator
from dataclasses import dataclass

from spotrain.train.usage import UsageError


@dataclass(frozen=True)
class Batching:
    """What the user has said of the size of a step: see `choose`."""

    micro_batch: int
    """Most samples that a rank takes in at once; at an epoch's end one more, unless `is_global`."""
    accumulate: int = 1
    """Micro-batches of each rank in a step of constant share."""
    global_batch: int | None = None
    """Samples of all ranks in a step; None: what the ranks' shares come to."""

    @property
    def is_global(self) -> bool:
        return self.global_batch is not None

    @property
    def accumulates(self) -> bool:
        """Whether a step may have several batches of one rank."""
        return self.is_global or self.accumulate > 1

    def step_samples(self, world_size: int) -> int:
        return self.global_batch or self.micro_batch * self.accumulate * world_size

    def pieces(self, samples: int, world_size: int) -> int:
        """Micro-batches that each rank has in a step of so many new samples.

        As many on every rank: with a sharded model each forward pass is a collective.
        """
        share = -(-samples // world_size)
        return max(1, -(-share // self.micro_batch))

    def steps(self, left: int, world_size: int, *, drop_last: bool) -> "Steps":
        """How the samples that are left of an epoch become steps."""
        whole = self.step_samples(world_size)
        full, rest = divmod(left, whole)
        pieces = self.pieces(whole, world_size)
        if rest == 0 or drop_last:
            return Steps(full, whole, pieces)
        if self.is_global or rest >= world_size or full == 0:
            return Steps(full, whole, pieces, rest, self.pieces(rest, world_size))
        return Steps(full - 1, whole, pieces, whole + rest, pieces)


@dataclass(frozen=True)
class Steps:
    """Equal steps, then perhaps one of another size."""

    full: int
    samples: int
    """New samples of all ranks in each full step."""
    pieces: int
    """Batches of each rank in each full step."""
    last_samples: int = 0
    last_pieces: int = 0

    def __len__(self) -> int:
        return self.full + (self.last_samples > 0)

    @property
    def batches(self) -> int:
        return self.full * self.pieces + self.last_pieces


@dataclass(frozen=True)
class Share:
    """One rank's part of a step."""

    start: int
    """Its first sample, counted from the step's first."""
    cuts: tuple[tuple[int, int], ...]
    """From where to where each micro-batch goes, counted from `start`; an empty one is padded."""

    @classmethod
    def of(cls, samples: int, pieces: int, *, rank: int, world_size: int) -> "Share":
        even, extra = divmod(samples, world_size)
        start = rank * even + min(rank, extra)
        return cls(start, tuple(_cut(even + (rank < extra), pieces)))

    @property
    def size(self) -> int:
        return self.cuts[-1][1]


def _cut(size: int, pieces: int) -> Iterator[tuple[int, int]]:
    """Neighbouring pieces whose sizes differ by one at most, larger ones first."""
    even, extra = divmod(size, pieces)
    stop = 0
    for number in range(pieces):
        start, stop = stop, stop + even + (number < extra)
        yield start, stop


def choose(
    *,
    batch_size: int | None,
    accumulate: int,
    global_batch: int | None,
    micro_batch: int | None,
    size: int,
) -> Batching:
    """One of the two rules, from what `run.loader` was given for a data set of `size` samples.

    Raises:
        UsageError: the numbers contradict each other, or say too little.
    """
    for name, value in (
        ("batch_size", batch_size),
        ("accumulate", accumulate),
        ("global_batch", global_batch),
        ("micro_batch", micro_batch),
    ):
        if value is not None and (type(value) is not int or value < 1):
            raise UsageError(f"{name}={value!r}, but samples and batches are whole numbers from 1")
    if global_batch is None:
        if micro_batch is not None:
            raise UsageError(
                f"micro_batch={micro_batch} belongs to global_batch=...; with a constant share of "
                f"each rank it is batch_size={micro_batch}, accumulate=..."
            )
        if batch_size is None:
            raise UsageError(
                "run.loader does not know how large a step is: give batch_size=... (samples of "
                "each rank, so that a larger world takes larger steps) or global_batch=..., "
                "micro_batch=... (samples of all ranks, the same in a world of any size)"
            )
        return Batching(batch_size, accumulate)
    if batch_size is not None or accumulate != 1:
        odd = f"batch_size={batch_size}" if batch_size is not None else f"accumulate={accumulate}"
        raise UsageError(
            f"{odd} contradicts global_batch={global_batch}: a rank's share of a constant step "
            "depends on the world. Say micro_batch=..., the most that a rank can take in at once."
        )
    if micro_batch is None:
        raise UsageError(
            f"global_batch={global_batch} needs micro_batch=..., the most samples that fit into "
            "the memory of one rank: in a small world each has several such batches a step"
        )
    if micro_batch > global_batch:
        raise UsageError(
            f"micro_batch={micro_batch} is more than global_batch={global_batch}, which all ranks "
            "share: they are the other way round"
        )
    if global_batch > size:
        raise UsageError(
            f"global_batch={global_batch}, but the data set has {size} samples, so that no step "
            f"could have that many: give {size} or fewer"
        )
    return Batching(micro_batch, global_batch=global_batch)
