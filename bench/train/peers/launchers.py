"""Who takes part: ours with and without the session, and torchrun in three settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final

from spotrain import contract

SCRIPTS: Final = Path(__file__).parent / "scripts"
JOB: Final = "bench/job/uid"
TOKEN: Final = "bench"
TUNING: Final = "last_call_timeout=1,keep_alive_interval=1,keep_alive_max_attempt=5,is_host=0"


class Meeting(Enum):
    """Where the agents of a job find each other."""

    COORDINATOR = "bench.train.peers.coordinator"
    STORE = "bench.train.peers.store"
    FIRST_AGENT = ""
    """The first agent hosts the store, as torchrun's documentation shows it."""


@dataclass(frozen=True, kw_only=True)
class Launcher:
    name: str
    about: str
    """How the page calls it."""
    meeting: Meeting
    module: str
    script: Path
    script_options: tuple[str, ...] = ()
    rendezvous: str = ""
    """torchrun's --rdzv-conf."""
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)

    def command(self, *, max_size: int, port: int) -> tuple[str, ...]:
        """What one agent runs, without the interpreter and the script's own arguments."""
        options: tuple[str, ...] = ()
        if self.meeting is not Meeting.COORDINATOR:
            options = (
                f"--nnodes=1:{max_size}",
                "--nproc-per-node=1",
                "--max-restarts=100",
                "--rdzv-backend=c10d",
                f"--rdzv-endpoint=127.0.0.1:{port}",
                "--rdzv-id=bench",
                "--local-addr=127.0.0.1",
                *([f"--rdzv-conf={self.rendezvous}"] if self.rendezvous else []),
            )
        return ("-m", self.module, *options, str(self.script), *self.script_options)

    def variables(self, *, worker: str, port: int) -> dict[str, str]:
        if self.meeting is not Meeting.COORDINATOR:
            return dict(self.environment)
        return {
            contract.ENV_COORDINATOR: f"ws://127.0.0.1:{port}",
            contract.ENV_TOKEN: TOKEN,
            contract.ENV_JOB: JOB,
            contract.ENV_POD: worker,
            contract.ENV_ADDRESS: "127.0.0.1",
            contract.ENV_GRACE_SECONDS: "30",
            **self.environment,
        }


SESSION: Final = Launcher(
    name="session",
    about="ours, elastic.run",
    meeting=Meeting.COORDINATOR,
    module="spotrain.agent",
    script=SCRIPTS / "session.py",
)
UNMODIFIED: Final = Launcher(
    name="unmodified",
    about="ours, plain script",
    meeting=Meeting.COORDINATOR,
    module="spotrain.agent",
    script=SCRIPTS / "plain.py",
)
STOCK: Final = Launcher(
    name="stock",
    about="torchrun, defaults",
    meeting=Meeting.FIRST_AGENT,
    module="torch.distributed.run",
    script=SCRIPTS / "plain.py",
)
TUNED: Final = Launcher(
    name="tuned",
    about="torchrun, tuned",
    meeting=Meeting.STORE,
    module="torch.distributed.run",
    script=SCRIPTS / "plain.py",
    rendezvous=TUNING,
    # Shared, the address of a dead rank 0 stays with those who knew it (pytorch #135712).
    environment={"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"},
)
LEAVING: Final = Launcher(
    name="leaving",
    about="torchrun, tuned, leaves on SIGTERM",
    meeting=Meeting.STORE,
    module="bench.train.peers.leaving_torchrun",
    script=SCRIPTS / "plain.py",
    script_options=("--agree",),
    rendezvous=TUNING,
    environment={"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"},
)
ALL: Final = {peer.name: peer for peer in (SESSION, UNMODIFIED, LEAVING, TUNED, STOCK)}
