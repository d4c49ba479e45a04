"""The processes that run the jobs of this machine: how one is begun, and what a job is without."""

import os
import signal
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Final

from spotrain.cli.errors import JOB_FAILED, UserError
from spotrain.cli.job_rows import INTERRUPTED
from spotrain.cli.job_view import view
from spotrain.controller.status import NO_PROCESS, RUNNING, SUSPENDED
from spotrain.kinds import Object
from spotrain.local.absence import without_process
from spotrain.local.shelf import StoredJob, merged
from spotrain.next_command import next_command

START_SECONDS: Final = 300.0
"""An engine that has not begun by then never will; a loaded machine takes seconds."""


def without_engine(document: Object, last_alive: datetime) -> Object:
    """The document of a job that no process runs: its workers are gone, whatever it says, and went
    with the process at the latest."""
    seen = view(document).status
    if seen.finished:
        return document
    status = document.get("status") or {}
    conditions = {each["type"]: each for each in status.get("conditions") or []}
    name = document["metadata"]["name"]
    kind = SUSPENDED if document["spec"].get("suspend") else RUNNING
    before, at = conditions.get(kind, {}), last_alive.isoformat()
    is_old = kind == SUSPENDED and before.get("status") == "True"
    conditions[kind] = {
        **before,
        "lastTransitionTime": (before.get("lastTransitionTime") if is_old else None) or at,
        "type": kind,
        "status": "True" if kind == SUSPENDED else "False",
        "reason": NO_PROCESS,
        "message": f"no process runs it; {next_command('resume', name, local=True)} goes on where "
        "it was.",
    }
    told: Object = {
        "state": SUSPENDED if kind == SUSPENDED else INTERRUPTED,
        "conditions": list(conditions.values()),
        "replicaStatuses": None,
        "world": None,
        "offer": None,
    }
    kept = without_process(seen, last_alive, until=None).to_document()
    told |= {part: kept[part] for part in ("history", "ledger") if part in kept}
    return {**document, "status": merged(status, told)}


def start_engine(stored: StoredJob) -> None:
    """Run the job in a process that outlives this one. Raises UserError where it does not start."""
    before, story = _written(stored), stored.folder / "story.log"
    process = _spawn([sys.executable, "-m", "spotrain.local", str(stored.folder)], story)
    deadline = time.monotonic() + START_SECONDS
    ended = 0
    try:
        while _written(stored) == before:
            ended, _ = os.waitpid(process, os.WNOHANG)
            if ended or time.monotonic() > deadline:
                told = story.read_text(errors="replace").splitlines() or ["it says nothing"]
                raise UserError(f"the job did not start here: {told[-1]}", exit_code=JOB_FAILED)
            time.sleep(0.05)
    except BaseException:  # Ctrl-C too
        if not ended:
            os.kill(process, signal.SIGTERM)
        raise


def _spawn(command: list[str], output: Path) -> int:
    """In a session of its own: a Ctrl-C is for the command that starts it, not for the job."""
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return os.posix_spawn(
        command[0],
        command,
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(output), append, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )


def _written(stored: StoredJob) -> int:
    """When its engine wrote last."""
    try:
        return stored.status_file.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
