"""Where the archive keeps what: names of files and folders below its own. Pure.

ledger/jobs.jsonl                   every job there is or was
ledger/<job>-<uid>.jsonl            its worlds, stays, pauses, back-offs, gaps
ledger/nodes.jsonl                  every node of a pool
logs/<job>-<uid>/<worker>.<n>.jsonl output of its workers, in segments
"""

import re
from typing import Final

LEDGER: Final = "ledger"
LOGS: Final = "logs"
JOBS_FILE: Final = f"{LEDGER}/jobs.jsonl"
NODES_FILE: Final = f"{LEDGER}/nodes.jsonl"
LOCK_FILE: Final = f"{LEDGER}/.lock"
ALIVE_FILE: Final = f"{LEDGER}/.alive"
"""Its time of change: until then the keeper of the ledger has looked."""
_PART: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}")


def ledger_file(name: str, uid: str) -> str:
    return f"{LEDGER}/{_of_job(name, uid)}.jsonl"


def logs_folder(name: str, uid: str) -> str:
    return f"{LOGS}/{_of_job(name, uid)}"


def segment_file(worker: int, number: int) -> str:
    """Sorts by number, so that the last one is the newest."""
    return f"{worker}.{number:06d}.jsonl"


def parse_segment(file: str) -> tuple[int, int] | None:
    """(worker, number); None: it is no segment."""
    match = re.fullmatch(r"(\d+)\.(\d{6,})\.jsonl", file)
    return (int(match[1]), int(match[2])) if match else None


def _of_job(name: str, uid: str) -> str:
    """Names and uids become names of files: nothing else than what Kubernetes gives may."""
    for part in (name, uid):
        if not _PART.fullmatch(part):
            raise ValueError(f"{part!r} is no name or uid of a Kubernetes object")
    return f"{name}-{uid}"
