"""A proxy before a server of HTTP that does to requests what networks and clouds do to them."""

import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import urlsplit

HOP: Final = {"connection", "keep-alive", "transfer-encoding", "content-length"}
"""Headers of one connection, not of what is said over it."""
BUFFER: Final = 1 << 16


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    """With the query."""
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What the server would say in its stead."""

    status: int
    body: bytes
    type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


class Cut(Exception):
    """The connection ends before the server hears of it."""


class Lost(Exception):
    """The server does it; its answer does not arrive."""


class Short(Exception):
    """Half of the answer's body arrives."""


Fault = Callable[[Request], Answer | Request | None]
"""Answers, returns another request, raises one of the above, or lets pass with None."""


@dataclass
class Proxy:
    address: str
    requests: list[Request] = field(default_factory=list)
    """All that arrived, in their order."""
    fault: Fault = lambda _: None
    piece: int = 1 << 30
    """Bytes that are taken at a time, ..."""
    pause_seconds: float = 0.0
    """... and how long after each of them none is."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def once(self, which: Callable[[Request], bool], does: Fault) -> None:
        """`does`, to the first of these requests from now on."""
        left = [True]

        def fault(request: Request) -> Answer | Request | None:
            with self._lock:
                hit = left[0] and which(request)
                left[0] = left[0] and not hit
            return does(request) if hit else None

        self.fault = fault


def cut(_: Request) -> None:
    raise Cut


def lose(_: Request) -> None:
    raise Lost


def shorten(_: Request) -> None:
    raise Short


def busy(_: Request) -> Answer:
    return Answer(503, b"<Error/>")


@contextmanager
def proxy_to(address: str) -> Iterator[Proxy]:
    host, port = urlsplit(address).hostname, urlsplit(address).port

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            request = Request(self.command, self.path, self.take(length), dict(self.headers))
            made.requests.append(request)
            try:
                done = made.fault(request)
                if isinstance(done, Answer):
                    self.say(done.status, {"content-type": done.type, **done.headers}, done.body)
                else:
                    self.say(*self.ask(done or request))
            except (Cut, Lost, Short) as fault:
                self.close_connection = True
                if isinstance(fault, Lost | Short):
                    status, headers, body = self.ask(request)
                if isinstance(fault, Short):
                    self.say(status, headers, body, send=len(body) // 2)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer

        def take(self, length: int) -> bytes:
            taken = bytearray()
            while len(taken) < length:
                got = self.rfile.read(min(made.piece, length - len(taken)))
                if not got:
                    break
                taken += got
                time.sleep(made.pause_seconds)
            return bytes(taken)

        def ask(self, request: Request) -> tuple[int, dict[str, str], bytes]:
            assert host is not None
            server = http.client.HTTPConnection(host, port)
            headers = {k: v for k, v in request.headers.items() if k.lower() not in HOP}
            headers["content-length"] = str(len(request.body))
            server.request(request.method, request.path, request.body, headers)
            answer = server.getresponse()
            data = answer.read()
            server.close()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, data

        def say(
            self, status: int, headers: dict[str, str], body: bytes, send: int | None = None
        ) -> None:
            self.send_response_only(status)
            # That of a body which a HEAD is not sent.
            length = headers.get("content-length") if self.command == "HEAD" else None
            kept = {k: v for k, v in headers.items() if k not in HOP}
            for name, value in {**kept, "content-length": length or str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body[:send])

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    # Else the kernel takes megabytes in at once, of which a slow reader has read nothing yet.
    server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    made = Proxy(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
