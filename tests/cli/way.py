"""The way to a server, as a proxy of TCP that loses it: closed for a while, or silent for ever."""

import contextlib
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread

READ_BYTES = 65536


class Way:
    """Every connection to `port` becomes one to the server."""

    def __init__(self, listener: socket.socket, to_port: int) -> None:
        self.port = int(listener.getsockname()[1])
        self.connections = 0
        """That were passed on."""
        self._listener = listener
        self._to_port = to_port
        self._lock = Lock()
        self._refuses = 0
        self._open: list[tuple[socket.socket, socket.socket, Event]] = []

    def cut(self, refusals: int) -> None:
        """All connections end, and so many of the next ones at once; then it is there again."""
        with self._lock:
            self._refuses = refusals
            self._close()

    def fall_silent(self) -> None:
        """Nothing arrives on the connections that there are, and nobody hears of it; new ones are
        passed on."""
        with self._lock:
            for _, _, is_silent in self._open:
                is_silent.set()

    def serve(self) -> None:
        with contextlib.suppress(OSError):  # it is closed
            while True:
                near, _ = self._listener.accept()
                with self._lock:
                    if self._refuses:
                        self._refuses -= 1
                        near.close()
                        continue
                    far = socket.create_connection(("127.0.0.1", self._to_port))
                    is_silent = Event()
                    self._open.append((near, far, is_silent))
                    self.connections += 1
                for source, sink in ((near, far), (far, near)):
                    Thread(target=_carry, args=(source, sink, is_silent), daemon=True).start()

    def stop(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._close()

    def _close(self) -> None:
        for near, far, _ in self._open:
            for each in (near, far):
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()
        self._open.clear()


def _carry(source: socket.socket, sink: socket.socket, is_silent: Event) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(READ_BYTES):
            if not is_silent.is_set():
                sink.sendall(data)
        if not is_silent.is_set():
            sink.shutdown(socket.SHUT_WR)


@contextmanager
def way_to(port: int) -> Iterator[Way]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        way = Way(listener, port)
        thread = Thread(target=way.serve)
        thread.start()
        try:
            yield way
        finally:
            way.stop()
            thread.join()
