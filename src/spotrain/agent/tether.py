"""Run a command that dies with its parent: `python tether.py COMMAND ...`.

Ranks live in sessions of their own, so the death of an agent alone (SIGKILL, out of memory)
would leave them behind, holding GPUs. Linux can tie a process to its parent; the tie survives
exec. Elsewhere the command just runs. Only the standard library: this starts in 10 ms.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent = int(os.environ.pop("SPOTRAIN_TETHER_PARENT", os.getppid()))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the tie was made
            sys.exit(1)
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
