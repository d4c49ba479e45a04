"""The run: a training function's view of its worlds, and what carries it from one to the next."""

import importlib
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn
from torch.utils.data import Dataset

from spotrain.agent.rank import Assignment, Channel
from spotrain.train import randomness
from spotrain.train.checkpoint import Catalogue, CheckpointError, CheckpointId, Manifest
from spotrain.train.group import Group
from spotrain.train.loader import ElasticLoader, Position
from spotrain.train.parallel import BuildReplica, Elastic, data_parallel
from spotrain.train.sample_log import SampleLog
from spotrain.train.solo import SoloChannel

log = logging.getLogger(__name__)

COMMIT_SECONDS = 5.0
"""The coordinator answers in milliseconds or is away; then this save stays uncommitted."""
PROGRESS_SECONDS = 0.5


class WorldEnded(Exception):
    """The present world is over: `train` is called again in the next one."""


class UsageError(RuntimeError):
    """The training function used the run in a way that would lose work."""


class Tracked(Protocol):
    def state_dict(self) -> Any: ...
    def load_state_dict(self, state: Any, /) -> Any: ...


class Run:
    """Handed to the training function; see `spotrain.train` for a whole script.

    Until `track` returns, only `wrap`, `loader` and `track` may be used: a newcomer does just
    that while the others, in the midst of training, wait for it.
    """

    def __init__(
        self,
        channel: Channel | SoloChannel,
        catalogue: Catalogue,
        *,
        seed: int,
        checkpoint_seconds: float,
        keep: int,
        previous_step: int | None,
    ) -> None:
        self._channel = channel
        self._catalogue = catalogue
        self._checkpoint_seconds = checkpoint_seconds
        self._keep = keep
        self._previous_step = previous_step
        self._position = Position(seed=seed)
        self._models: list[Elastic] = []
        self._tracked: dict[str, Tracked] = {}
        self._restored: CheckpointId | None = None
        self._saved: CheckpointId | None = None
        self._held: CheckpointId | None = None
        """The checkpoint whose state is in memory right now, if it is exactly one's."""
        self._first_step_due = True
        self._told_at = self._saved_at = 0.0
        self._metrics: dict[str, float] = {}
        self._sample_log = SampleLog.from_environment()

    # --- Where this process is ----------------------------------------------------------

    @property
    def place(self) -> Assignment:
        return self._group.place

    @property
    def rank(self) -> int:
        return self.place.rank

    @property
    def world_size(self) -> int:
        return self.place.world_size

    @property
    def is_main(self) -> bool:
        return self.place.rank == 0

    @property
    def world(self) -> int:
        """Number of the present world; it only rises."""
        return self.place.number

    @property
    def device(self) -> torch.device:
        return self._group.device

    @property
    def steps_done(self) -> int:
        """Global steps done since the job began, over all worlds."""
        return self._position.step

    # --- What the training function calls -----------------------------------------------

    def wrap(self, model: nn.Module, build_replica: BuildReplica | None = None) -> Elastic:
        """Move a model to the device and keep it in step with the other ranks.

        `build_replica` makes the parallel form of the model in each world it is called for;
        DistributedDataParallel by default.
        """
        if self._tracked:
            raise UsageError("run.wrap came after run.track: wrap every model before tracking it")
        elastic = Elastic(model.to(self.device), build_replica or data_parallel(self.device))
        self._models.append(elastic)
        return elastic

    def loader(
        self,
        dataset: Dataset[Any],
        *,
        batch_size: int,
        workers: int = 0,
        shuffle: bool = True,
        drop_last: bool = False,
        **options: Any,
    ) -> ElasticLoader:
        """The training set's batches, every sample once an epoch across all changes of worlds.

        `batch_size` counts samples of one rank; `options` go to torch's DataLoader.
        """
        if self._position.size is not None:
            raise UsageError(
                "run.loader was called twice: one position in one data set is kept. Put several "
                "sets together with torch.utils.data.ConcatDataset; evaluate with a DataLoader."
            )
        self._position.size = len(dataset)  # type: ignore[arg-type]
        options.setdefault("pin_memory", self.device.type == "cuda")
        return ElasticLoader(
            dataset,
            self._position,
            batch_size=batch_size,
            shuffle=shuffle,
            drop_last=drop_last,
            options={"num_workers": workers, **options},
        )

    def track(self, **objects: Tracked) -> None:
        """Name what a checkpoint holds, beside position and random state; restores the newest one.

        Each object has state_dict and load_state_dict. Collective: every rank calls it once.
        """
        if self._tracked or not objects:
            raise UsageError("run.track is called once, with everything that a checkpoint holds")
        self._tracked = {
            name: object.module if isinstance(object, Elastic) else object
            for name, object in objects.items()
        }
        self._settle()

    def epochs(self, count: int) -> Iterator[int]:
        """The epochs that are left, beginning with the one in progress."""
        if not self._tracked:
            raise UsageError("run.epochs came before run.track: a checkpoint would hold no model")
        while self._position.epoch < count:
            yield self._position.epoch
            self._position.end_epoch()
            self._held = None

    def step(self, **metrics: float | torch.Tensor) -> None:
        """One optimizer step is done: counts its samples, saves when due, changes world if asked.

        Raises:
            WorldEnded: do not catch it; the training function is called again.
        """
        if not self._tracked:
            raise UsageError("run.step came before run.track: a checkpoint would hold no model")
        taken = self._position.take_step()
        self._held = None
        self._sample_log.write(self.place, self._position, taken)
        self._tell(sum(len(step.indices) - step.padding for step in taken), metrics)
        if self._channel.is_leave_asked(self.world):
            raise WorldEnded(f"world {self.world} was ended from outside")
        if self._group.agree(self._channel.is_drain_asked(self.world)):
            self._change_world()
        elif self.is_main and time.monotonic() - self._saved_at >= self._checkpoint_seconds:
            self._save()

    def log(self, **metrics: float | torch.Tensor) -> None:
        """Report metrics of an epoch, such as accuracy; only rank 0's count."""
        if self.is_main:
            self._report(samples=0, metrics=metrics)

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor summed over all ranks; every rank calls it."""
        return self._group.sum(tensor)

    # --- From world to world ------------------------------------------------------------

    def enter(self, place: Assignment) -> None:
        device = torch.device("cpu")
        if torch.cuda.is_available():
            device = torch.device("cuda", place.local_rank)
            torch.cuda.set_device(device)
        self._group = Group(place, device)
        self._position.place = place
        self._first_step_due = True
        randomness.seed_all(self._position.seed)

    def finish(self) -> None:
        """Training is done: commit the last state, then leave together."""
        if self._tracked:
            done = self.is_main and self._save()
            self._group.choose([int(done)] * 2)  # nobody leaves before rank 0 has saved
        self.leave()

    def leave(self) -> None:
        for model in self._models:
            model.leave_world()
        self._group.close()

    def _change_world(self) -> None:
        """A planned change, in place: model, optimizer and device stay as they are."""
        saved = self._group.choose(self._save_pair())
        if saved is None:
            raise WorldEnded("the planned stop could not be saved; the last checkpoint counts")
        self._held = CheckpointId(*saved)
        number, self._previous_step = self.world, self._position.step
        self.leave()
        self._channel.drained(number)
        self._channel.arrive(survivor=True, floor=0)
        place = self._channel.next_world()
        random_state = randomness.get_state()
        self.enter(place)
        randomness.set_state(random_state)
        self._settle()

    def _save_pair(self) -> tuple[int, int] | None:
        if not self.is_main or not self._save():
            return None
        assert self._saved is not None
        return self._saved.world, self._saved.step

    def _settle(self) -> None:
        """What every rank does in a new world, newcomers and survivors alike: one state for all."""
        choice = self._group.choose(self._newest() if self.is_main else None)
        self._restored = CheckpointId(*choice) if choice is not None else None
        if self._restored is not None and self._restored != self._held:
            self._load(self._restored)
        for model in self._models:
            model.enter_world(self.world_size)
        self._saved_at = time.monotonic()
        if self._restored is None:
            # A first checkpoint at once: a volume that cannot be written shows before money is
            # spent, and from here on there always is a state to go back to.
            self._group.choose(self._first_save())
            self._restored = CheckpointId(self.world, self._position.step)

    def _first_save(self) -> tuple[int, int] | None:
        if not self.is_main:
            return None
        if not self._save():
            raise CheckpointError(
                f"the first checkpoint could not be written to {self._catalogue.directory} (see "
                "above): training that cannot be resumed is not begun. Mend the volume or --output."
            )
        return self.world, self._position.step

    def _newest(self) -> tuple[int, int] | None:
        if self._held is not None:
            return self._held.world, self._held.step
        manifest = self._catalogue.newest_intact()
        named = self.place.restore
        if named is not None and (manifest is None or manifest.id < CheckpointId(*named)):
            log.error("checkpoint %s was committed but cannot be used", CheckpointId(*named))
        return (manifest.id.world, manifest.id.step) if manifest is not None else None

    def _load(self, id: CheckpointId) -> None:
        manifest = find(self._catalogue, id)
        state = self._catalogue.load(manifest, map_location=self.device)
        size = manifest.extra.get("size")
        if size != self._position.size:
            raise UsageError(
                f"checkpoint {id} belongs to a data set of {size} samples, this one has "
                f"{self._position.size}: its position means nothing here. Use another --output."
            )
        missing = sorted(set(self._tracked) ^ set(state["tracked"]))
        if missing:
            raise UsageError(
                f"checkpoint {id} and run.track differ in {', '.join(missing)}: it was written by "
                "another version of the script. Track the same names, or use another --output."
            )
        for name, object in self._tracked.items():
            object.load_state_dict(state["tracked"][name])
        self._position.step, self._position.epoch = id.step, manifest.epoch
        self._position.cursor = manifest.cursor
        self._position.seed = int(manifest.extra["seed"])
        if self.is_main:
            randomness.set_state(state["random"])
        else:
            randomness.seed_all(self._position.seed, self.rank, id.step)
        self._held = id

    def _save(self) -> bool:
        """Whether the present state is committed: written, accepted, published."""
        id = CheckpointId(self.world, self._position.step)
        if id in (self._held, self._saved):
            return True
        self._saved_at = time.monotonic()
        try:
            staged = self._catalogue.stage(
                id,
                self._state(),
                epoch=self._position.epoch,
                cursor=self._position.cursor,
                parent=self._restored,
                extra={"seed": self._position.seed, "size": self._position.size},
            )
            accepted = self._channel.ask_commit(id.world, id.step, timeout_seconds=COMMIT_SECONDS)
            if not accepted:
                staged.discard()
                log.warning("checkpoint %s was %s", id, _verdict(accepted))
                return False
            staged.publish()
        except CheckpointError as error:
            log.error("%s", error)
            return False
        self._channel.saved(id.world, id.step)
        self._saved = self._held = id
        self._catalogue.prune(self._keep)
        return True

    def _state(self) -> Mapping[str, Any]:
        tracked = {name: object.state_dict() for name, object in self._tracked.items()}
        return {"tracked": tracked, "random": randomness.get_state()}

    # --- Progress -----------------------------------------------------------------------

    def _tell(self, samples: int, metrics: Mapping[str, float | torch.Tensor]) -> None:
        due = time.monotonic() - self._told_at >= PROGRESS_SECONDS
        if self.is_main and (due or self._first_step_due):
            self._report(samples=samples * self.world_size, metrics=metrics)

    def _report(self, *, samples: int, metrics: Mapping[str, float | torch.Tensor]) -> None:
        self._told_at = time.monotonic()
        first: dict[str, int | None] = {}
        if self._first_step_due and samples:
            self._first_step_due = False
            restored = self._restored.step if self._restored is not None else 0
            first = {"restored_step": restored, "previous_step": self._previous_step}
        values = {name: _as_float(value) for name, value in metrics.items()}
        self._channel.progress(
            self.world,
            step=self._position.step,
            epoch=self._position.epoch,
            samples=samples,
            metrics={name: value for name, value in values.items() if math.isfinite(value)},
            **first,
        )


def run(
    train: Callable[[Run], Any],
    *,
    output: str | Path,
    seed: int = 0,
    checkpoint_seconds: float = 60.0,
    keep: int = 3,
) -> Any:
    """Call `train(run)`, again and again after losses, until it returns; returns what it returned.

    Args:
        output: folder on a file system that all workers share; checkpoints go to
            `<output>/checkpoints`. A folder with checkpoints is resumed.
        seed: of the data order and of the random generators.
        checkpoint_seconds: the most work that a loss without notice costs.
        keep: checkpoints that stay on disk.
    """
    importlib.import_module("torch._dynamo")  # 1 s at the first optimizer, while others wait
    channel = Channel.from_environment() or SoloChannel()
    catalogue = Catalogue(Path(output) / "checkpoints")
    previous_step: int | None = None
    survivor = False
    while True:
        channel.arrive(survivor=survivor, floor=newest_world(catalogue))
        session = Run(
            channel,
            catalogue,
            seed=seed,
            checkpoint_seconds=checkpoint_seconds,
            keep=keep,
            previous_step=previous_step,
        )
        place = channel.next_world()
        try:
            session.enter(place)
            result = train(session)
            session.finish()
            return result
        except WorldEnded as ended:
            message = str(ended)
        except RuntimeError as error:
            if not may_be_a_lost_peer(error):
                raise
            message = f"{type(error).__name__}: {error}"
            _forget_frames(error)
        log.warning("world %d is over for rank %d: %s", session.world, session.rank, message)
        previous_step, survivor = session.steps_done, True
        number = session.world
        session.leave()
        del session
        channel.broken(number, message)


def newest_world(catalogue: Catalogue) -> int:
    """The newest world that has published a checkpoint; 0 if none has."""
    manifests = catalogue.manifests()
    return manifests[0].id.world if manifests else 0


def find(catalogue: Catalogue, id: CheckpointId) -> Manifest:
    """By its exact name: an NFS client may not list yet what another one has just written."""
    path = catalogue.directory / f"{id}.json"
    try:
        return Manifest.from_json(path.read_text())
    except (OSError, ValueError, KeyError) as error:
        raise WorldEnded(f"checkpoint {id} cannot be read from {path} any more: {error}") from error


def may_be_a_lost_peer(error: RuntimeError) -> bool:
    """Whether a collective failed, as it does when a peer dies; anything else ends the process.

    gloo raises bare RuntimeErrors, told apart by their text. After an error on a GPU the process
    cannot be trusted, and is ended as well: the agent starts it anew.
    """
    if torch.cuda.is_available():
        return False
    if isinstance(error, torch.distributed.DistError):
        return True
    return any(word in str(error) for word in ("gloo", "Gloo", "Connection closed by peer"))


def _forget_frames(error: BaseException) -> None:
    """Frees models, replicas and data loaders that the failed call still holds."""
    import traceback

    traceback.clear_frames(error.__traceback__)


def _as_float(value: float | torch.Tensor) -> float:
    return float(value.detach() if isinstance(value, torch.Tensor) else value)


def _verdict(accepted: bool | None) -> str:
    return "not answered by the coordinator" if accepted is None else "refused: a newer world is on"
