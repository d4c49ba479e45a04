"""Where training is: what a checkpoint keeps beside the tracked objects."""

from dataclasses import dataclass, field
from typing import Final

from spotrain.agent.rank import Assignment, Channel
from spotrain.train.batching import Batching
from spotrain.train.sampler import Batch
from spotrain.train.solo import SoloChannel
from spotrain.train.usage import UsageError, WorldEnded
from spotrain.train.waited import Waited

FAR_AWAY: Final = 10**12
"""Steps: whoever asks for so many epochs means training without an end."""


@dataclass
class Position:
    """Counts that hold in any world, and the batches that are on their way into them."""

    seed: int
    step: int = 0
    """Global steps done."""
    epoch: int = 0
    cursor: int = 0
    """Samples of this epoch that are consumed, over all ranks."""
    size: int | None = None
    """Samples of the data set; None before there is a loader."""
    batching: Batching | None = None
    """How they become steps; None before there is a loader."""
    drop_last: bool = False
    """The rest of an epoch that makes no whole step is left out."""
    epochs: int | None = None
    """That there are to be; None: the script has not said."""
    place: Assignment | None = None
    unstepped: list[Batch] = field(default_factory=list)
    """Batches handed out since the last step: consumed once that step is done."""
    weighed: int = 0
    """How many of them have gone through `run.backward`."""
    channel: Channel | SoloChannel | None = None
    """Is told how far this rank is, for the day that its world hangs."""
    waited: Waited = field(default_factory=Waited)

    @property
    def ends_step(self) -> bool:
        """Whether the batch at hand is its step's last one."""
        return not self.unstepped or self.unstepped[-1].ends_step

    @property
    def steps_left(self) -> int | None:
        """To the end of the last epoch, in worlds of the present size; None: nobody can say."""
        if self.epochs is None or self.size is None or not self.batching or not self.place:
            return None
        if self.epoch >= self.epochs:
            return 0
        steps = self._steps_of(self.size - self.cursor)
        steps += (self.epochs - self.epoch - 1) * self._steps_of(self.size)
        return steps if steps < FAR_AWAY else None

    def _steps_of(self, samples: int) -> int:
        assert self.batching
        assert self.place
        return len(self.batching.steps(samples, self.place.world_size, drop_last=self.drop_last))

    def require_world(self) -> None:
        """
        Raises:
            WorldEnded: the current world was ended from outside; every rank leaves it.
        """
        place, channel = self.place, self.channel
        if place is not None and channel is not None and channel.is_leave_asked(place.number):
            raise WorldEnded(f"world {place.number} was ended from outside")

    def take_batch(self, batch: Batch) -> None:
        self.require_world()  # a script that ignores errors of its steps may not call run.step
        self.unstepped.append(batch)
        self.mark()

    def weigh(self) -> float:
        """The weight of the batch at hand, which has had it then."""
        if not self.unstepped:
            raise UsageError("run.backward came without a batch of run.loader: it has no weight")
        if self.weighed == len(self.unstepped) - 1:  # else it has several losses
            self.weighed += 1
        return self.unstepped[-1].weight

    def take_step(self) -> list[Batch]:
        """Count one global step; returns the batches that it consumed.

        Raises:
            UsageError: there is no whole step to count.
        """
        self._require_whole_step()
        taken = self.unstepped
        self.forget_batches()
        self.cursor = taken[-1].cursor
        self.come_to(self.step + 1)
        return taken

    def come_to(self, step: int) -> None:
        """`step` global steps are done."""
        self.step = step
        self.mark()
        if self.place is not None:
            self.waited.count_step(self.place.rank)

    def mark(self) -> None:
        if self.channel is not None:
            self.channel.mark(step=self.step, batches=len(self.unstepped))

    def end_epoch(self) -> None:
        self.epoch += 1
        self.cursor = 0
        self.forget_batches()

    def forget_batches(self) -> None:
        self.unstepped = []
        self.weighed = 0

    def _require_whole_step(self) -> None:
        if not self.unstepped:
            raise UsageError(
                "run.step came without a new batch of run.loader. Take batches from "
                "run.loader(dataset, batch_size=...), which gives each rank its share and knows "
                "the position, and call run.step() once for each optimizer step."
            )
        if not self.ends_step:
            raise UsageError(
                f"run.step came after {len(self.unstepped)} batches of a step that has more: the "
                "others would be lost. Update the model and call run.step() where "
                "loader.ends_step is true."
            )
        if self.batching and self.batching.accumulates and self.weighed < len(self.unstepped):
            raise UsageError(
                f"{self.weighed} of the step's {len(self.unstepped)} batches went through "
                "run.backward: call run.backward(loss) instead of loss.backward(), or batches and "
                "ranks with fewer samples would count as much as those with more"
            )
