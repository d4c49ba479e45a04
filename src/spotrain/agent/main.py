"""`spotrain-run`: takes torchrun's options, and trains through interruptions.

Where the worlds come from:
- a coordinator, when SPOTRAIN_COORDINATOR is set (an ElasticJob sets it);
- a coordinator of its own, with --standalone or when nothing else is asked for: one box;
- torch's own rendezvous, when --rdzv-endpoint or several static nodes are given: then this is
  plain torchrun, for jobs that bring their own rendezvous.
"""

import argparse
import contextlib
import logging
import math
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from torch.distributed import run as torchrun
from torch.distributed.elastic.agent.server.api import RunResult, WorkerSpec
from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, record
from torch.distributed.launcher.api import LaunchConfig

from spotrain import contract
from spotrain.agent.processes import Ranks, WorldsHandler, tethered
from spotrain.agent.standalone import own_coordinator
from spotrain.agent.worker import Left, Notice, Worker
from spotrain.coordinator.client import Client, Endpoint, is_websocket_url, split_urls

logger = logging.getLogger("spotrain")

EXIT_INTERRUPTED = 128 + signal.SIGINT
DEFAULT_GRACE_SECONDS = 30.0
"""Kubernetes' own default between SIGTERM and SIGKILL."""


@dataclass
class Signals:
    interrupted: bool = False


class UsageError(ValueError):
    """The command line or the environment asks for something impossible; exit code 2."""


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Who this agent is to the coordinator, from the environment that an ElasticJob sets."""

    job: str
    pod: str
    address: str
    grace_seconds: float

    @classmethod
    def read(cls, environment: Mapping[str, str], local_addr: str | None) -> "Identity":
        in_cluster = contract.ENV_COORDINATOR in environment
        address = environment.get(contract.ENV_ADDRESS) or local_addr
        if not address:
            address = socket.gethostbyname(socket.gethostname()) if in_cluster else "127.0.0.1"
        return cls(
            job=environment.get(contract.ENV_JOB, "local"),
            pod=environment.get(contract.ENV_POD) or socket.gethostname(),
            address=address,
            grace_seconds=_read_grace(environment),
        )


def _read_grace(environment: Mapping[str, str]) -> float:
    text = environment.get(contract.ENV_GRACE_SECONDS, str(DEFAULT_GRACE_SECONDS))
    with contextlib.suppress(ValueError):
        if 0 < (seconds := float(text)) < math.inf:
            return seconds
    raise UsageError(
        f"{contract.ENV_GRACE_SECONDS}={text!r} is not a number of seconds above 0: a notice "
        "must be handled within it. Set it to the pod's terminationGracePeriodSeconds."
    )


def read_endpoint(environment: Mapping[str, str]) -> Endpoint | None:
    """The coordinator that the environment names, or None."""
    urls = split_urls(environment.get(contract.ENV_COORDINATOR, ""))
    if not urls:
        return None
    wrong = [url for url in urls if not is_websocket_url(url)]
    if wrong:
        raise UsageError(
            f"{contract.ENV_COORDINATOR}={wrong[0]!r} is no websocket address; "
            "it looks like wss://spotrain-coordinator.spotrain-system:8443."
        )
    token_file = environment.get(contract.ENV_TOKEN_FILE)
    ca_file = environment.get(contract.ENV_CA_FILE)
    return Endpoint(
        urls=tuple(urls),
        token=environment.get(contract.ENV_TOKEN, ""),
        token_file=Path(token_file) if token_file else None,
        ca_file=Path(ca_file) if ca_file else None,
    )


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = torchrun.get_args_parser()
    parser.prog = "spotrain-run"
    parser.description = (
        "Starts a training script on the GPUs of this machine, and trains through interruptions. "
        "Options are torchrun's. In an ElasticJob the coordinator forms the worlds; on one box "
        "(--standalone) nothing else is needed; the --rdzv, --node-rank and --master options count "
        "only where a job brings torch's own rendezvous."
    )
    parser.epilog = (
        "spotrain-run --standalone --nproc-per-node 4 train.py --lr 0.1   (Ctrl-C saves and leaves)"
    )
    return parser.parse_args(arguments)


def _require_script(options: argparse.Namespace) -> None:
    """A missing script would be found by every rank of every world, again and again."""
    is_file = not (options.module or options.no_python or options.run_path)
    if is_file and not Path(options.training_script).is_file():
        raise UsageError(
            f"{options.training_script}: no such script in {Path.cwd()}; give its path, or -m and "
            "the name of a module"
        )


def brings_rendezvous(options: argparse.Namespace) -> bool:
    """Whether torch's own rendezvous is asked for."""
    if options.standalone:
        return False
    return bool(options.rdzv_endpoint) or options.nnodes not in ("1", "1:1")


def launch(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Run the agent until its job is closed or it is told to leave; returns the exit code."""
    endpoint = read_endpoint(environment)
    _require_script(options)
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
    _keep_gloo_on(identity.address)
    with contextlib.ExitStack() as stack:
        if endpoint is None:
            coordinator = own_coordinator(identity.job, max_restarts=config.max_restarts)
            endpoint = stack.enter_context(coordinator)
        return _run(config, entrypoint, arguments, identity, endpoint)


def _run(
    config: LaunchConfig,
    command: object,
    arguments: list[str],
    identity: Identity,
    endpoint: Endpoint,
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
    worker = Worker(
        job=identity.job,
        pod=identity.pod,
        address=identity.address,
        grace_seconds=identity.grace_seconds,
        clock=time.monotonic,
    )
    processes = Ranks(spec, config, worker.run)
    client = Client(endpoint, hello=worker.hello, received=worker.inbox.put)
    worker.attach(processes, client.send)
    with _notices_to(worker) as signals:
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


@contextlib.contextmanager
def _notices_to(worker: Worker) -> Iterator[Signals]:
    """SIGTERM and the first Ctrl-C let the worker save and leave; the second Ctrl-C ends it."""
    seen = Signals()

    def on_term(_signal: int, _frame: FrameType | None) -> None:
        worker.inbox.put(Notice())

    def on_interrupt(number: int, _frame: FrameType | None) -> None:
        if seen.interrupted:
            raise SignalException("interrupted twice", sigval=signal.Signals(number))
        seen.interrupted = True
        os.write(2, b"spotrain-run: saving, then leaving; press Ctrl-C again to stop at once\n")
        worker.inbox.put(Notice())

    before = signal.signal(signal.SIGTERM, on_term), signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])


def _keep_gloo_on(address: str) -> None:
    """On one machine gloo would pick the interface of the host's name; loopback always works."""
    if address.startswith("127.") or address == "::1":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo0" if sys.platform == "darwin" else "lo")


@record
def _record_and_launch(options: argparse.Namespace) -> int:
    return launch(options, os.environ)


def main() -> None:
    options = parse(sys.argv[1:])
    if options.rdzv_id == "none" and brings_rendezvous(options):
        options.rdzv_id = str(uuid.uuid4())
    logging.basicConfig(
        level=os.environ.get("LOGLEVEL", "INFO"),
        format="%(asctime)s spotrain %(levelname)s %(message)s",
    )
    logging.getLogger("websockets").setLevel(logging.WARNING)
    # torch leaves a folder of error files behind at every run; without --log-dir nobody wants it.
    # It has to outlive the launch, since `record` reads it when the launch has failed.
    scratch = tempfile.mkdtemp(prefix="spotrain-logs-")
    options.log_dir = options.log_dir or scratch
    try:
        code = _record_and_launch(options)
    except UsageError as error:
        print(f"spotrain-run: {error}", file=sys.stderr)
        code = contract.EXIT_USAGE
    except SignalException as error:
        code = 128 + int(error.sigval)
    except ChildFailedError as error:
        print(error, file=sys.stderr)
        code = contract.EXIT_FAILED
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(code)
