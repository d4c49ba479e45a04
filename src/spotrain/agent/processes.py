"""The ranks of one agent as processes, through torch's own LocalElasticAgent.

torch starts, watches and ends the processes (environment, logs, error files, NUMA binding);
when they start and which world they belong to is decided in `worker`. Everything that touches
torch's private names is in this file.
"""

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch.distributed.elastic.agent.server.api import RunResult, WorkerSpec, WorkerState
from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from torch.distributed.elastic.multiprocessing import LogsSpecs
from torch.distributed.elastic.rendezvous import RendezvousHandler, RendezvousInfo
from torch.distributed.launcher.api import LaunchConfig

from spotrain import contract
from spotrain.agent.rank import Assignment

UNASSIGNED = -1
"""RANK of a process that was started ahead of its world: a script that read it would fail."""


@dataclass(frozen=True)
class Place:
    """Where the ranks of this agent stand in a world, as torchrun's environment says it."""

    world: int
    group_rank: int
    group_world_size: int
    first_rank: int
    world_size: int
    store_host: str
    store_port: int

    @classmethod
    def of(cls, assignment: Assignment) -> "Place":
        return cls(
            world=assignment.number,
            group_rank=assignment.group_rank,
            group_world_size=assignment.group_world_size,
            first_rank=assignment.rank - assignment.local_rank,
            world_size=assignment.world_size,
            store_host=assignment.store_host,
            store_port=assignment.store_port,
        )


class WorldsHandler(RendezvousHandler):
    """Tells torch that worlds are formed elsewhere; ranks use the agent's own store."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id

    def get_backend(self) -> str:
        return "spotrain"

    def get_run_id(self) -> str:
        return self._run_id

    @property
    def use_agent_store(self) -> bool:
        return True

    def next_rendezvous(self) -> RendezvousInfo:
        raise NotImplementedError("worlds come from the coordinator")

    def is_closed(self) -> bool:
        return False

    def set_closed(self) -> None:
        pass

    def num_nodes_waiting(self) -> int:
        return 0

    def shutdown(self) -> bool:
        return True


class Ranks(LocalElasticAgent):
    """Starts, polls and stops the local ranks; `drive` is the loop that tells it when."""

    def __init__(
        self, spec: WorkerSpec, config: LaunchConfig, drive: Callable[[], RunResult]
    ) -> None:
        assert isinstance(config.logs_specs, LogsSpecs)
        super().__init__(
            spec=spec,
            logs_specs=config.logs_specs,
            start_method=config.start_method,
            log_line_prefix_template=config.log_line_prefix_template,
            shutdown_timeout=config.shutdown_timeout or 0,
        )
        self._drive = drive
        self.shutdown_seconds = config.shutdown_timeout or 0
        self.running = False
        self._attempt = -1

    @property
    def count(self) -> int:
        return int(self._worker_group.spec.local_world_size)

    def start(self, place: Place | None, control: Path) -> None:
        """Start every rank; without a place they import and then wait for their world."""
        os.environ[contract.ENV_CONTROL] = str(control)
        os.environ["SPOTRAIN_TETHER_PARENT"] = str(os.getpid())
        group: Any = self._worker_group  # torch types these fields by their initial None
        group.store = True  # torch only asks that there is one; ranks open their own client
        group.group_rank = place.group_rank if place else UNASSIGNED
        group.group_world_size = place.group_world_size if place else UNASSIGNED
        group.master_addr = place.store_host if place else ""
        group.master_port = place.store_port if place else 0
        for worker in group.workers:
            rank = place.first_rank + worker.local_rank if place else UNASSIGNED
            size = place.world_size if place else UNASSIGNED
            worker.global_rank = worker.role_rank = rank
            worker.world_size = worker.role_world_size = size
        # The restart count names the log folder of this start and prefixes the keys of env://
        # scripts in the world's store: every rank of a world must have the same one.
        self._attempt = place.world - 1 if place else self._attempt + 1
        self._remaining_restarts = group.spec.max_restarts - self._attempt
        for local_rank, id in self._start_workers(group).items():
            group.workers[local_rank].id = id
        group.state = WorkerState.HEALTHY
        self.running = True

    def poll(self) -> RunResult | None:
        """How the ranks ended (all of them, or the first failure ended the rest), or None."""
        if not self.running:
            return None
        result: RunResult = self._monitor_workers(self._worker_group)
        self._worker_group.state = result.state
        if result.state in (WorkerState.HEALTHY, WorkerState.INIT):
            return None
        self.running = False
        return result

    def success(self) -> RunResult:
        """What torch expects of an agent whose ranks have done their work."""
        values = {worker.global_rank: None for worker in self._worker_group.workers}
        return RunResult(state=WorkerState.SUCCEEDED, return_values=values)

    def stop(self, *, seconds: float, sign: signal.Signals = signal.SIGTERM) -> None:
        """End every rank: `sign`, then SIGKILL after `seconds`."""
        if self.running:
            self._shutdown(sign, timeout=max(0, round(seconds)))
            self._worker_group.state = WorkerState.STOPPED
            self.running = False

    def _invoke_run(self, role: str = "default") -> RunResult:
        return self._drive()


def tethered(command: object, arguments: list[str]) -> tuple[object, list[str]]:
    """The same command, tied to this process's life (a function runs as torch starts it)."""
    if not isinstance(command, str):
        return command, arguments
    tether = str(Path(__file__).with_name("tether.py"))
    return sys.executable, ["-S", "-E", tether, command, *arguments]
