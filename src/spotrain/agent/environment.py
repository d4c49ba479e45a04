"""What the environment tells an agent: who it is, and where its coordinator is."""

import contextlib
import math
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spotrain import contract
from spotrain.coordinator.client import Endpoint, is_websocket_url, split_urls


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
    text = environment.get(contract.ENV_GRACE_SECONDS, str(contract.DEFAULT_GRACE_SECONDS))
    with contextlib.suppress(ValueError):
        if 0 < (seconds := float(text)) < math.inf:
            return seconds
    raise UsageError(
        f"{contract.ENV_GRACE_SECONDS}={text!r} is not a number of seconds above 0: a notice "
        "must be handled within it. Set it to the pod's terminationGracePeriodSeconds."
    )


def read_progress_deadline(environment: Mapping[str, str]) -> float:
    """Seconds within which one box has to do its next step; 0: there is no deadline."""
    text = environment.get(contract.ENV_PROGRESS_DEADLINE) or "0"
    with contextlib.suppress(ValueError):
        if 0 <= (seconds := float(text)) < math.inf:
            return seconds
    raise UsageError(
        f"{contract.ENV_PROGRESS_DEADLINE}={text!r} is not a number of seconds from 0: a world "
        "that does no step for so long is restarted. Set it above the longest pause between two "
        "steps, such as a validation, or to 0 for no deadline."
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
