"""How ranks ended, in words."""

from collections.abc import Mapping
from typing import Any

from torch.distributed.elastic.agent.server.api import RunResult


def describe(result: RunResult) -> str:
    """The first failure of the local ranks in one line."""
    if not result.failures:
        return "the ranks ended without having trained"
    failure = min(result.failures.values(), key=lambda failure: failure.timestamp)
    how = f"signal {failure.signal_name()}" if failure.exitcode < 0 else f"code {failure.exitcode}"
    told = _told_in(failure.error_file_data)
    return f"local rank {failure.local_rank} (pid {failure.pid}) ended with {how}{told}"


def _told_in(error_file: Mapping[str, Any]) -> str:
    """The last line of what the rank wrote down about its end; "" if it wrote nothing."""
    message = error_file.get("message")
    text = message.get("message") if isinstance(message, dict) else None
    return f": {str(text).strip().splitlines()[-1][:300]}" if text else ""
