"""The ranks of one agent as processes, through torch's own LocalElasticAgent.

torch starts, watches and ends the processes (environment, logs, error files, NUMA binding);
when they start and which world they belong to is decided in `worker`. Everything that touches
torch's private names is in this file.
"""

import contextlib
import functools
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch.distributed.elastic.agent.server.api import RunResult, WorkerSpec, WorkerState
from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from torch.distributed.elastic.multiprocessing import LogsSpecs
from torch.distributed.elastic.multiprocessing import api as torch_processes
from torch.distributed.elastic.multiprocessing.subprocess_handler import SubprocessHandler
from torch.distributed.elastic.rendezvous import RendezvousHandler, RendezvousInfo
from torch.distributed.launcher.api import LaunchConfig

from spotrain import contract
from spotrain.agent.failures import read_error_file
from spotrain.agent.forked import reap_orphans
from spotrain.agent.rank import Assignment
from spotrain.agent.tether import ENV_TETHER_PARENT
from spotrain.agent.warm_start import ForkFailed, ForkServer

logger = logging.getLogger(__name__)

UNASSIGNED = -1
"""RANK of a process that was started ahead of its world: a script that read it would fail."""


KILL_SECONDS = 1.0
"""For the kernel to end a rank after SIGKILL; one that waits for a file system is left to it."""


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
        self,
        spec: WorkerSpec,
        config: LaunchConfig,
        drive: Callable[[], RunResult],
        *,
        server: ForkServer | None = None,
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
        self._server = server
        self._to_start: tuple[Place | None, Path] | None = None
        """What waits for a fork server that is still importing."""

    @property
    def count(self) -> int:
        return int(self._worker_group.spec.local_world_size)

    @property
    def is_importing(self) -> bool:
        return self._server is not None and self._server.is_importing()

    def start(self, place: Place | None, control: Path) -> None:
        """Start every rank; without a place they import and then wait for their world.

        Where a fork server is about to be ready, they start with it, in a later `poll`.
        """
        self.running = True
        if self.is_importing:
            self._to_start = (place, control)
        else:
            self._start(place, control)

    def _start(self, place: Place | None, control: Path) -> None:
        self._to_start = None
        reap_orphans({self._server.pid} if self._server else set())
        os.environ[contract.ENV_CONTROL] = str(control)
        os.environ[ENV_TETHER_PARENT] = str(os.getpid())
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
        with _forked_by(self._server) if self._server else contextlib.nullcontext():
            pids = self._start_workers(group)
        for local_rank, pid in pids.items():
            group.workers[local_rank].id = pid
        group.state = WorkerState.HEALTHY

    def poll(self) -> RunResult | None:
        """How the ranks ended (all of them, or the first failure ended the rest), or None."""
        if not self.running:
            return None
        if self._to_start is not None:
            if not self.is_importing:
                self._start(*self._to_start)
            return None
        result: RunResult = self._monitor_workers(self._worker_group)
        self._worker_group.state = result.state
        if result.state in (WorkerState.HEALTHY, WorkerState.INIT):
            return None
        self.running = False
        return result

    def exited_with_0(self) -> set[int]:
        """Local ranks whose processes have ended with exit code 0, others may still run."""
        handlers = getattr(self._pcontext, "subprocess_handlers", {})
        return {rank for rank, handler in handlers.items() if handler.proc.poll() == 0}

    def reported_errors(self) -> dict[int, str]:
        """What local ranks wrote to their error files about the exceptions that end them."""
        files = self._pcontext.error_files if self._pcontext else {}
        found = {rank: read_error_file(Path(file)) for rank, file in files.items()}
        return {rank: message for rank, message in found.items() if message}

    def success(self) -> RunResult:
        """What torch expects of an agent whose ranks have done their work."""
        values = {worker.global_rank: None for worker in self._worker_group.workers}
        return RunResult(state=WorkerState.SUCCEEDED, return_values=values)

    def stop(self, *, seconds: float, sign: signal.Signals = signal.SIGTERM) -> None:
        """End every rank: `sign`, then SIGKILL after `seconds`."""
        if self.running and self._to_start is None:
            self._shutdown(sign, timeout=seconds)  # type: ignore[arg-type]  # it adds it to a time
            self._worker_group.state = WorkerState.STOPPED
        self.running, self._to_start = False, None

    def kill(self) -> None:
        """End every rank at once, and see that it has ended: its memory is needed."""
        self.stop(seconds=KILL_SECONDS, sign=signal.SIGKILL)

    def _invoke_run(self, role: str = "default") -> RunResult:
        return self._drive()


class WarmHandler(SubprocessHandler):
    """A rank that is forked where that can be had, and started as a command otherwise."""

    def __init__(self, server: ForkServer, **options: Any) -> None:
        self._server = server
        super().__init__(**options)

    def _popen(self, args: tuple[str, ...], env: dict[str, str]) -> Any:
        try:
            own = {name: value for name, value in env.items() if name != ENV_TETHER_PARENT}
            return self._server.fork(
                args[-1 - self._server.script.arguments :],
                own,
                stdout=self._stdout.fileno() if self._stdout else 1,
                stderr=self._stderr.fileno() if self._stderr else 2,
            )
        except ForkFailed as error:
            logger.info("starting local rank %d cold: %s", self.local_rank_id, error)
            return super()._popen(args, env)


@contextlib.contextmanager
def _forked_by(server: ForkServer) -> Iterator[None]:
    """Let torch start its processes by `WarmHandler`, which it asks one function for."""
    module: Any = torch_processes
    before = module.get_subprocess_handler
    module.get_subprocess_handler = functools.partial(WarmHandler, server)
    try:
        yield
    finally:
        module.get_subprocess_handler = before


def tethered(command: object, arguments: list[str]) -> tuple[object, list[str]]:
    """The same command, tied to this process's life (a function runs as torch starts it)."""
    if not isinstance(command, str):
        return command, arguments
    tether = str(Path(__file__).with_name("tether.py"))
    return sys.executable, ["-S", "-E", tether, command, *arguments]
