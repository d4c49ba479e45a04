"""Controllers that start in no time: forked from a process that has imported all they need.

`python -m tests.cluster.warm` reads orders from standard input, one JSON object a line, runs one
controller process for each and says its pid, then how it ended. With `writes` in the order the
controller kills itself with SIGKILL around its write of that number: the very places where a
death can hurt, which a kill at random moments seldom meets.
"""

import asyncio
import ctypes
import itertools
import json
import os
import signal
import sys
from typing import Any

from spotrain.controller import kube
from spotrain.controller.main import main

PR_SET_PDEATHSIG = 1
AT_EVERY_START = ("/leases", "/configmaps")
"""Written by each controller whatever there is to do: who dies of these sees no job change."""


def kill_self() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(write: int, phase: str, seconds: float) -> None:
    """Before that write is sent, `seconds` after it was, or when it has been answered."""
    ask, numbers = kube.Kube._ask, itertools.count(1)

    async def deadly(self: kube.Kube, method: str, path: str, *rest: Any, **more: Any) -> Any:
        is_counted = method != "GET" and not any(kind in path for kind in AT_EVERY_START)
        if not is_counted or next(numbers) != write:
            return await ask(self, method, path, *rest, **more)
        if phase == "before":
            kill_self()
        if phase == "under way":
            asyncio.get_running_loop().call_later(seconds, kill_self)
        answer = await ask(self, method, path, *rest, **more)
        kill_self()
        return answer

    kube.Kube._ask = deadly  # type: ignore[method-assign]


def run(order: dict[str, Any]) -> int:
    """In the child. It must not outlive the process that waits for it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.environ.update(order["environment"])
    log = os.open(order["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(log, 2)
    if order.get("write"):
        die_at(order["write"], order["phase"], order["seconds"])
    return main()


def serve() -> None:
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = run(json.loads(line))
            finally:
                os._exit(code)
        print(json.dumps({"pid": pid}), flush=True)
        _, status = os.waitpid(pid, 0)
        print(json.dumps({"ended": status}), flush=True)


if __name__ == "__main__":
    serve()
