"""Why ranks ended: a message for people, and how directly it explains the failure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch.distributed.elastic.agent.server.api import RunResult

from spotrain.agent.lost_peer import is_lost_peer_text
from spotrain.worlds import Cause

MAX_MESSAGE = 300


@dataclass(frozen=True)
class Failure:
    """How a rank ended."""

    message: str
    cause: Cause


def explain(result: RunResult) -> Failure:
    """Return the earliest failure of the local ranks, preferring one that explains the others."""
    failures = [
        _explain(
            failure.local_rank,
            f"(pid {failure.pid}) ended with "
            + (
                f"signal {failure.signal_name()}"
                if failure.exitcode < 0
                else f"code {failure.exitcode}"
            ),
            _message(failure.error_file_data),
        )
        for failure in sorted(result.failures.values(), key=lambda failure: failure.timestamp)
    ]
    default = Failure("the ranks ended without having trained", Cause.EXIT)
    return max(failures, key=lambda failure: failure.cause, default=default)


def explain_errors(errors: Mapping[int, str]) -> Failure | None:
    """Return the failure that error files explain best; None if they only show lost peers."""
    failures = [_explain(rank, "failed", message) for rank, message in sorted(errors.items())]
    best = max(failures, key=lambda failure: failure.cause, default=None)
    return best if best is not None and best.cause is Cause.ERROR else None


def read_error_file(path: Path) -> str:
    """Return the exception that a rank wrote to its error file; "" if it wrote none."""
    try:
        return _message(json.loads(path.read_text()))
    except (OSError, ValueError, AttributeError):
        return ""


def _explain(local_rank: int, how: str, error: str) -> Failure:
    message = f"local rank {local_rank} {how}"
    if not error:
        return Failure(message, Cause.EXIT)
    cause = Cause.SYMPTOM if is_lost_peer_text(error) else Cause.ERROR
    return Failure(f"{message}: {error.splitlines()[-1][:MAX_MESSAGE]}", cause)


def _message(error_file: Mapping[str, Any]) -> str:
    message = error_file.get("message")
    text = message.get("message") if isinstance(message, dict) else None
    return str(text).strip() if text else ""
