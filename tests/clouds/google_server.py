"""Google's REST APIs on this machine: answers as they were recorded, over real HTTP.

The first part of a path is the service, as `Google` is told by `endpoint`.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from google.auth.credentials import AnonymousCredentials, Credentials

from spotrain.clouds.gcp_api import Google

Answer = tuple[int, Any]
"""HTTP status, and what is sent as JSON; text is sent as it is."""


def refusal(status: int, message: str, *, reason: str = "", word: str = "") -> Answer:
    """As Google's APIs say no: `reason` where Compute Engine says it, `word` where the others."""
    told: dict[str, Any] = {"code": status, "message": message}
    if reason:
        told["errors"] = [{"message": message, "domain": "global", "reason": reason}]
    if word:
        kind = "type.googleapis.com/google.rpc.ErrorInfo"
        told["details"] = [{"@type": kind, "reason": word, "domain": "googleapis.com"}]
    return status, {"error": told}


DENIED = refusal(
    403,
    "Required 'compute.regions.get' permission for 'projects/my-project/regions/us-central1'",
    reason="forbidden",
)
THROTTLED = refusal(403, "Rate Limit Exceeded", reason="rateLimitExceeded")
BUSY = refusal(429, "Quota exceeded for quota metric 'Queries'", word="RATE_LIMIT_EXCEEDED")
DISABLED = refusal(
    403, "Cloud Billing API has not been used in project 1234 before", word="SERVICE_DISABLED"
)
NOT_FOUND = refusal(404, "The resource was not found", reason="notFound")
UNAUTHENTICATED = refusal(401, "Request had invalid authentication credentials.")
BROKEN: Answer = (502, "<html>Bad gateway</html>")


@dataclass
class GoogleServer:
    """Answers by path; a list of them is handed out one after the other, the last for good."""

    url: str = ""
    answers: dict[str, Answer | list[Answer]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """Paths and parameters."""

    def client(self, credentials: Credentials | None = None) -> Google:
        return Google(
            credentials or AnonymousCredentials(),  # type: ignore[no-untyped-call]
            endpoint=lambda service: f"{self.url}/{service}",
            pause_seconds=0,
        )

    def take(self, path: str) -> Answer:
        known = self.answers.get(path, NOT_FOUND)
        if isinstance(known, list):
            return known.pop(0) if len(known) > 1 else known[0]
        return known

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]


@contextmanager
def google_server() -> Iterator[GoogleServer]:
    told = GoogleServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            address = urlsplit(self.path)
            path = unquote(address.path).lstrip("/")
            told.asked.append((path, {k: v[0] for k, v in parse_qs(address.query).items()}))
            status, body = told.take(path)
            data = (body if isinstance(body, str) else json.dumps(body)).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        told.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield told
        finally:
            server.shutdown()
            thread.join()
