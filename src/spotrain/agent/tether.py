"""Run a command that dies with its parent: `python tether.py COMMAND ...`.

Ranks live in sessions of their own, so the death of an agent alone (SIGKILL, out of memory)
would leave them behind, holding GPUs. Linux can tie a process to its parent; the tie survives
exec. Elsewhere the command just runs. Only the standard library: this starts in 10 ms.
"""

import ctypes
import os
import signal
import sys

ENV_TETHER_PARENT = "SPOTRAIN_TETHER_PARENT"
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def tie_to(parent: int) -> None:
    """End this process when its parent ends, and now if that has happened already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the tie was made
            os._exit(1)


def adopt_orphans() -> bool:
    """Become the parent of descendants whose parents end; False where the system cannot."""
    if sys.platform != "linux":
        return False
    return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def main() -> None:
    tie_to(int(os.environ.pop(ENV_TETHER_PARENT, os.getppid())))
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
