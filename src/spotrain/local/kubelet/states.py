"""How a container of a pod stands: values without a process behind them."""

from dataclasses import dataclass, field, replace
from datetime import datetime


@dataclass(frozen=True)
class Waiting:
    reason: str = "ContainerCreating"
    message: str = ""


@dataclass(frozen=True)
class Running:
    started_at: datetime


@dataclass(frozen=True)
class Ended:
    exit_code: int
    started_at: datetime
    finished_at: datetime
    message: str = ""
    """The termination message."""
    reason: str = ""

    @property
    def why(self) -> str:
        return self.reason or ("Completed" if self.exit_code == 0 else "Error")


State = Waiting | Running | Ended


@dataclass(frozen=True, kw_only=True)
class Container:
    name: str
    image: str
    state: State = field(default_factory=Waiting)
    last: Ended | None = None
    """How it ended before its newest start."""
    restarts: int = 0

    def become(self, state: State) -> "Container":
        """The same container in its next state; one that starts again counts that."""
        if isinstance(self.state, Ended) and not isinstance(state, Ended):
            return replace(self, state=state, last=self.state, restarts=self.restarts + 1)
        return replace(self, state=state)


@dataclass(frozen=True, kw_only=True)
class PodState:
    """All that a kubelet knows of a pod that it runs."""

    init: tuple[Container, ...]
    main: tuple[Container, ...]
    restart_policy: str
    host_ip: str
    ip: str
    started_at: datetime
    reason: str = ""
    """Set where the node itself refuses the pod: it has failed, whatever its containers do."""
    message: str = ""

    def with_container(self, changed: Container) -> "PodState":
        def swap(old: tuple[Container, ...]) -> tuple[Container, ...]:
            return tuple(changed if one.name == changed.name else one for one in old)

        return replace(self, init=swap(self.init), main=swap(self.main))

    def container(self, name: str) -> Container:
        return next(one for one in (*self.init, *self.main) if one.name == name)
