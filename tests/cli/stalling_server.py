"""An API server that stands still where a test wants it to."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

from spotrain import contract
from spotrain.kinds import JOBS, PODS, Object
from spotrain.local.shelf import merged
from tests.cluster.researchers import IMAGE, POOLS

NAMESPACE = "team"
PLATFORM = f"GET {contract.POOLS_CONFIGMAP}"
SENDING = f"POST {JOBS.plural}"
ARCHIVE = f"GET {PODS.plural}"
"""Before code is sent it is asked where the archive is."""
CREATED = "2026-01-01T00:00:00Z"
WHO = "POST selfsubjectreviews"


class StallingServer:
    """It answers what sending jobs asks for, and the request `stalls_at` when it is released."""

    def __init__(self, stalls_at: str, after: int) -> None:
        self.stalls_at = stalls_at
        self._after = after
        self.jobs: list[Object] = []
        self.most_jobs: int | None = None
        """More of them are refused, as a quota would."""
        self.refuses = ""
        """A request that is not granted."""
        self.arrived = threading.Event()
        """The request that stands still is there."""
        self.release = threading.Event()

    def answer(self, request: str, body: Object) -> tuple[int, Object]:
        """`request`: its method and the last word of its path."""
        if request == self.stalls_at and len(self.jobs) >= self._after:
            self.arrived.set()
            self.release.wait()
        if request == self.refuses:
            return 403, {"message": "not today"}
        if request == PLATFORM:
            data = {contract.POOLS_KEY: yaml.safe_dump(POOLS), contract.TRAINING_IMAGE_KEY: IMAGE}
            return 200, {"data": data}
        if request == WHO:
            return 201, {"status": {"userInfo": {"username": "ada"}}}
        if request == SENDING and len(self.jobs) == self.most_jobs:
            return 403, {"message": "exceeded quota: few"}
        if request == SENDING:
            made = {**body, "metadata": {**body["metadata"], "creationTimestamp": CREATED}}
            self.jobs.append(made)
            return 201, made
        if request == f"GET {JOBS.plural}":
            return 200, {"items": self.jobs, "metadata": {"resourceVersion": "1"}}
        method, name = request.split()
        return self._answer_about_one(method, name, body)

    def _answer_about_one(self, method: str, name: str, body: Object) -> tuple[int, Object]:
        found = [each for each in self.jobs if each["metadata"]["name"] == name]
        if not found:
            return 404, {"message": f'"{name}" not found'}
        if method == "DELETE":
            self.jobs.remove(found[0])
        elif method == "PATCH":
            self.jobs[self.jobs.index(found[0])] = found[0] = merged(found[0], body)
        return 200, found[0]


@contextmanager
def stalling_server(
    stalls_at: str, folder: Path, *, after: int = 0
) -> Iterator[tuple[StallingServer, Mapping[str, str]]]:
    """It, and the environment of a command that talks to it; `after` that many jobs it stalls."""
    state = StallingServer(stalls_at, after)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            last = self.path.split("?")[0].rsplit("/", 1)[1]
            code, answer = state.answer(f"{self.command} {last}", json.loads(body or b"{}"))
            said = json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_POST = do_PATCH = do_DELETE = _serve

        def log_message(self, *_words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # whoever asked has gone
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield state, {"KUBECONFIG": str(_kubeconfig(folder, server.server_address[1]))}
    finally:
        state.release.set()
        server.shutdown()
        server.server_close()


def _kubeconfig(folder: Path, port: int) -> Path:
    name, address = "stalling", f"http://127.0.0.1:{port}"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": address}}],
        "users": [{"name": name, "user": {"token": "some"}}],
        "contexts": [
            {"name": name, "context": {"cluster": name, "user": name, "namespace": NAMESPACE}}
        ],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(document))
    return path
