"""A process that has imported what training scripts import, and forks into ranks on request.

A rank that is made here starts in a fraction of a second. It is to be like a fresh
`python -u script.py` in all that a script can see: `agent.warm_start` says how it is asked for.
The rank becomes a child of the agent, not of this server: it is forked twice, and the agent adopts
it (it is a subreaper). So the agent waits for it as for any child, and the kernel ends it with the
agent; this server may come and go.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import socket
import struct
import sys
import threading
import time
import types
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any, NoReturn

from spotrain.agent.tether import tie_to

LENGTH = struct.Struct("!Q")
"""A request is its length, with three file descriptors (stdout, stderr, go), and JSON."""
EXIT_UNWANTED = 1
NAME = "fork-server"
"""As `ps -o comm` and `top` show it; ranks are called python again."""


def main() -> None:
    """`fork_server SOCKET AGENT SCRIPT_OR_MODULE`: a request in, a process out."""
    socket_fd, agent, setting = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
    tie_to(agent)
    _name_process(NAME)
    channel = socket.socket(fileno=socket_fd)
    _set_path(setting["script"], is_module=setting["module"])
    for name in setting["preload"]:
        importlib.import_module(name)
    obstacle = why_not_fork(_open_files(), threading.active_count())
    if obstacle:
        _say(channel, {"error": obstacle})
        return
    gc.collect()
    gc.freeze()  # else every rank's collector would copy the pages that it only reads
    _say(channel, {"ready": True})
    while (request := _receive(channel)) is not None:
        fields, fds = request
        if not _fork_into_rank(channel, agent, fds):
            _become(fields["argv"], fields["environment"], is_module=setting["module"])
            return


def why_not_fork(open_files: list[str], threads: int) -> str:
    """What keeps a process from forking into ranks; "" if nothing does."""
    device = next((path for path in open_files if path.startswith("/dev/nvidia")), None)
    if device is not None:
        return f"an import has opened {device}: a GPU that is in use cannot be forked"
    if threads > 1:
        return f"the imports have started {threads - 1} threads: a fork would not have them"
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return "an import has initialized CUDA"
    return ""


def _name_process(name: str) -> None:
    with contextlib.suppress(OSError):  # it is for people only
        Path("/proc/self/comm").write_text(name)


def _open_files() -> list[str]:
    paths = []
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the one that lists this folder
            paths.append(str(link.readlink()))
    return paths


def _set_path(script: str, *, is_module: bool) -> None:
    """Python puts the script's folder first; it has put "" there, as this is `python -c`."""
    if not sys.flags.safe_path:
        sys.path[0] = os.getcwd() if is_module else os.path.dirname(os.path.realpath(script))


def _receive(channel: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    head, fds, _, _ = socket.recv_fds(channel, LENGTH.size, 3)
    if len(head) < LENGTH.size:
        return None  # the agent has closed it
    (length,) = LENGTH.unpack(head)
    text = bytearray()
    while len(text) < length:
        part = channel.recv(length - len(text))
        if not part:
            return None
        text += part
    return json.loads(text), fds


def _say(channel: socket.socket, message: dict[str, Any]) -> None:
    channel.sendall((json.dumps(message) + "\n").encode())


def _fork_into_rank(channel: socket.socket, agent: int, fds: list[int]) -> bool:
    """False in the new process, once the agent is its parent and wants it."""
    middle = os.fork()
    if middle:
        for fd in fds:
            os.close(fd)
        os.waitpid(middle, 0)
        return True
    middle = os.getpid()
    if os.fork():
        os._exit(0)
    while os.getppid() == middle:
        time.sleep(0.0005)
    tie_to(agent)
    os.setsid()
    _say(channel, {"pid": os.getpid()})
    channel.close()
    stdout, stderr, go = fds
    if os.read(go, 1) != b"g":
        os._exit(EXIT_UNWANTED)  # the agent has given up waiting and started another process
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    for fd in fds:
        if fd > 2:
            os.close(fd)
    return False


def _become(argv: list[str], environment: dict[str, str], *, is_module: bool) -> None:
    """Run a script or module as a fresh interpreter would."""
    _name_process(Path(sys.executable).name)
    atexit.register(gc.unfreeze)  # else libraries would report what is frozen as leaked
    os.environ.clear()
    os.environ.update(environment)
    if numpy_random := sys.modules.get("numpy.random"):
        numpy_random.seed()  # `random` does so by itself at a fork
    sys.orig_argv = [sys.executable, "-u", *(["-m"] if is_module else []), *argv]
    sys.argv[:] = argv
    main = types.ModuleType("__main__")
    vars(main).update(__builtins__=__builtins__, __annotations__={})
    sys.modules["__main__"] = main
    try:
        if is_module:
            runpy._run_module_as_main(argv[0])  # type: ignore[attr-defined]
        else:
            _run_script(main, os.path.abspath(argv[0]))
    except (SystemExit, KeyboardInterrupt):
        raise  # the interpreter knows what becomes of them
    except BaseException as error:
        _end_by(error)


def _run_script(main: types.ModuleType, path: str) -> None:
    vars(main).update(
        __file__=path,
        __cached__=None,
        __loader__=SourceFileLoader("__main__", path),
    )
    exec(compile(Path(path).read_bytes(), path, "exec", dont_inherit=True), vars(main))


def _end_by(error: BaseException) -> NoReturn:
    """As the interpreter ends for an exception, less the frames of this file. The agent learns of
    it, also where the script has not come to `elastic.run`, which writes down its own."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    sys.excepthook(type(error), error.with_traceback(traceback), traceback)
    with contextlib.suppress(Exception):  # it failed already; whoever cannot say of what ends too
        errors = importlib.import_module("torch.distributed.elastic.multiprocessing.errors")
        errors.get_error_handler().record_exception(error)
    raise SystemExit(1)
