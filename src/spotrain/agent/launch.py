"""Launching: from options and environment to a running agent, and its exit code."""

import argparse
import contextlib
import os
import signal
import sys
import time
from collections.abc import Mapping
from queue import SimpleQueue

from torch.distributed import run as torchrun
from torch.distributed.elastic.agent.server.api import RunResult, WorkerSpec
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig

from spotrain import contract
from spotrain.agent.command_line import brings_rendezvous, require_script
from spotrain.agent.environment import (
    Identity,
    UsageError,
    read_endpoint,
    read_progress_deadline,
)
from spotrain.agent.local_ranks import LocalRanks
from spotrain.agent.loop import Inbox, run
from spotrain.agent.notices import Left, notices_to
from spotrain.agent.processes import Ranks, WorldsHandler, tethered
from spotrain.agent.standalone import own_coordinator
from spotrain.agent.warm_start import ForkServer, preload_of, warm_script
from spotrain.agent.ways import Way, read_ways
from spotrain.agent.worker import Worker
from spotrain.coordinator.client import Client, Endpoint

EXIT_INTERRUPTED = 128 + signal.SIGINT


def launch(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Run the agent until its job is closed or it is told to leave; returns the exit code."""
    endpoint = read_endpoint(environment)
    require_script(options)
    if endpoint is None and brings_rendezvous(options):
        torchrun.run(options)  # type: ignore[no-untyped-call]
        return contract.EXIT_OK
    # SIGTERM and the first SIGINT are ours, the others mean "end now": torch takes those at each
    # start of the ranks.
    options.signals_to_handle = "SIGHUP,SIGQUIT"
    os.environ["TORCHELASTIC_SIGNALS_TO_HANDLE"] = options.signals_to_handle
    config, command, arguments = torchrun.config_from_args(options)
    entrypoint, arguments = tethered(command, arguments)
    identity = Identity.read(environment, config.local_addr)
    try:
        ways = read_ways(environment)
    except ValueError as error:
        raise UsageError(str(error)) from None
    _keep_gloo_on(identity.address)
    with contextlib.ExitStack() as stack:
        if endpoint is None:
            coordinator = own_coordinator(
                identity.job,
                max_restarts=config.max_restarts,
                progress_deadline_seconds=read_progress_deadline(environment),
            )
            endpoint = stack.enter_context(coordinator)
        server = None
        if Way.WARM in ways and (script := warm_script(options, config, command)):
            server = stack.enter_context(
                contextlib.closing(ForkServer(script, preload_of(environment)))
            )
            server.start()
        return _run(config, entrypoint, arguments, identity, endpoint, ways, server)


def _run(
    config: LaunchConfig,
    command: object,
    arguments: list[str],
    identity: Identity,
    endpoint: Endpoint,
    ways: frozenset[Way],
    server: ForkServer | None,
) -> int:
    spec = WorkerSpec(
        role=config.role,
        local_world_size=config.nproc_per_node,
        entrypoint=command,  # type: ignore[arg-type]
        args=tuple(arguments),
        rdzv_handler=WorldsHandler(identity.job.replace("/", "-")),  # torch names folders by it
        max_restarts=config.max_restarts,
        monitor_interval=config.monitor_interval,
        local_addr=identity.address,
        event_log_handler=config.event_log_handler,
        numa_options=config.numa_options,
        duplicate_stdout_filters=config.duplicate_stdout_filters,
        duplicate_stderr_filters=config.duplicate_stderr_filters,
        virtual_local_rank=config.virtual_local_rank,
    )
    inbox: Inbox = SimpleQueue()
    client = Client(endpoint, hello=lambda: worker.hello(), received=inbox.put)
    processes = Ranks(spec, config, lambda: run(worker, inbox), server=server)
    worker = Worker(
        identity,
        LocalRanks(processes, inbox.put),
        client.send,
        clock=time.monotonic,
        ways=ways,
    )
    with notices_to(inbox.put) as signals:
        client.start()
        try:
            return _exit_code(processes.run(), str(command))
        except Left:
            return EXIT_INTERRUPTED if signals.interrupted else contract.EXIT_NOTICE
        finally:
            client.close()


def _exit_code(result: RunResult, name: str) -> int:
    if not result.is_failed():
        return contract.EXIT_OK
    if result.failures:
        # torch's @record writes the first failure to the error file of this process.
        raise ChildFailedError(name=name, failures=result.failures)
    return contract.EXIT_FAILED


def _keep_gloo_on(address: str) -> None:
    """On one machine gloo would pick the interface of the host's name; loopback always works."""
    if address.startswith("127.") or address == "::1":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo0" if sys.platform == "darwin" else "lo")
