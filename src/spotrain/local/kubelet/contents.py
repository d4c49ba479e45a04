"""What a ConfigMap or a Secret holds, and what a container leaves behind to be read. Pure."""

import base64
from collections.abc import Mapping
from typing import Any, Final

LONGEST_MESSAGE: Final = 4096
LONGEST_LOG_END: Final = 2048
LOG_LINES: Final = 80
"""Kubernetes' limits on termination messages, and on ends of logs in their place."""


def content_of(document: Mapping[str, Any]) -> dict[str, bytes]:
    """Key -> content."""
    if document.get("kind") == "Secret":
        entries = document.get("data") or {}
        return {key: base64.b64decode(value) for key, value in entries.items()}
    binary = document.get("binaryData") or {}
    return {
        **{key: value.encode() for key, value in (document.get("data") or {}).items()},
        **{key: base64.b64decode(value) for key, value in binary.items()},
    }


def termination_message(written: bytes, log_end: bytes, *, policy: str, exit_code: int) -> str:
    """What the container wrote; with FallbackToLogsOnError the end of its log if it failed."""
    if written:
        return written[:LONGEST_MESSAGE].decode(errors="replace")
    if policy != "FallbackToLogsOnError" or exit_code == 0:
        return ""
    lines = log_end[-LONGEST_LOG_END:].decode(errors="replace").splitlines(keepends=True)
    return "".join(lines[-LOG_LINES:])
