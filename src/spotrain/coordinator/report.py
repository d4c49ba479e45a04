"""What the coordinator tells of a job."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from spotrain import worlds
from spotrain.worlds.history import History
from spotrain.worlds.questions import trains

MAX_METRICS = 128
"""Of a job; a script that names its metrics anew at every step must not grow without bound."""


def newest_metrics(known: Mapping[str, float], told: Mapping[str, float]) -> dict[str, float]:
    """What is known of each metric; of too many, those that were named last."""
    return dict(list({**known, **told}.items())[-MAX_METRICS:])


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Between a pod and the shared volume, since its agent began."""

    read_bytes: int
    written_bytes: int
    told_at: float
    """In seconds of the coordinator's clock."""


@dataclass(frozen=True, kw_only=True)
class JobReport:
    """What the coordinator knows of a job, for the controller and the ledger."""

    number: int
    size: int
    phase: worlds.Phase
    since: float
    """When the present world was published, in seconds of the coordinator's clock."""
    step: int
    epoch: int
    metrics: Mapping[str, float]
    outcome: str
    message: str
    restarts: int
    history: History
    """The newest worlds, `history.MAX_CHAPTERS` of them."""
    traffic: Mapping[str, Traffic] = field(default_factory=dict)
    """Pod -> what it last told; a later pod of that name has told nothing yet."""
    steps_left: int | None = None
    """From `step` to the end of training; None: the script does not tell."""
    uses_session: bool = False
    """The script has called `elastic.run`, and so will tell of its steps."""

    @classmethod
    def of(
        cls,
        state: worlds.State,
        chapters: History,
        *,
        since: float,
        epoch: int,
        steps_in_all: int | None,
        metrics: Mapping[str, float],
        traffic: Mapping[str, Traffic],
        uses_session: bool,
    ) -> "JobReport":
        steps = [c.last_step for c in chapters if c.last_step is not None]
        step = steps[-1] if steps else 0
        return cls(
            number=chapters[-1].number if chapters else state.number,
            size=state.world.size if state.world and trains(state) else 0,
            phase=state.phase,
            since=since,
            step=step,
            epoch=epoch,
            steps_left=None if steps_in_all is None else max(0, steps_in_all - step),
            metrics=dict(metrics),
            outcome=state.outcome,
            message=state.message,
            restarts=state.restarts,
            history=chapters,
            traffic=dict(traffic),
            uses_session=uses_session,
        )

    @property
    def awaits_first_step(self) -> bool:
        """Nothing was told of a step yet, but will be."""
        return self.uses_session and all(world.last_step is None for world in self.history)
