"""On the way to a cluster: no secret of the kubeconfig is ever told, and no fault taken for one of
its credentials."""

import json
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
import yaml

from spotrain import contract
from spotrain.cli import outages
from spotrain.cli.job_rows import COLUMNS
from spotrain.cli.main import main
from spotrain.cli.reach import address_of
from spotrain.controller import states
from tests.cli.documents import job
from tests.cli.stalling_server import CREATED, stalling_server
from tests.cli.way import way_to

SECRET = "hunter2"


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command says that finds no cluster."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (3, ""), said
    assert said.err.count("\n") == 1
    return said.err


def write_kubeconfig(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, server: str, user: dict[str, Any]
) -> None:
    name = "team"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": server}}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }
    (folder / "kubeconfig").write_text(yaml.safe_dump(document))
    monkeypatch.setenv("KUBECONFIG", str(folder / "kubeconfig"))


def printing(answer: object) -> dict[str, Any]:
    """A user whose credentials a program prints."""
    version = "client.authentication.k8s.io/v1"
    words = ["-c", f"printf %s {json.dumps(json.dumps(answer))}"]
    return {"exec": {"apiVersion": version, "command": "sh", "args": words}}


@pytest.mark.parametrize(
    ("login", "user", "says"),
    [
        pytest.param(f"ada:{SECRET}@", {}, "does not answer", id="in-the-servers-url"),
        pytest.param("", {"token": f"{SECRET}\nnext"}, "has a line feed", id="token-of-two-lines"),
        pytest.param("", printing(SECRET), "makes no token", id="program-that-prints-it-bare"),
        pytest.param(
            "", printing({"status": {"key": SECRET}}), "makes no token", id="under-another-name"
        ),
    ],
)
def test_no_error_tells_a_secret_of_the_kubeconfig(
    login: str,
    user: dict[str, Any],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("spotrain.cli.cluster.REQUEST_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        write_kubeconfig(tmp_path, monkeypatch, server=f"http://{login}{address}", user=user)
        for words in ("list", "status digits --watch", "submit a --gpus 1 -- train.py"):
            said = told(capsys, *words.split())
            assert says in said
            assert address in said
            assert SECRET not in said


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(f"token: {SECRET}: x", id="colon"),
        pytest.param(f"token: '{SECRET}", id="no-end"),
        pytest.param(f"token: {SECRET}\0", id="no-text"),
    ],
)
def test_a_kubeconfig_that_is_no_yaml_is_refused_without_its_text(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kubeconfig").write_text(f"users:\n- user:\n    {line}\n")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    said = told(capsys, "list")
    assert "cannot be read as YAML" in said
    assert SECRET not in said


@pytest.mark.parametrize(
    "server",
    [
        pytest.param("https://cluster.example:6443", id="nothing-else"),
        pytest.param("https://ada:p%40ss@cluster.example:6443", id="login"),
        pytest.param(f"https://cluster.example:6443/{SECRET}", id="path"),
        pytest.param(f"https://cluster.example:6443?token={SECRET}", id="query"),
        pytest.param(f"https://cluster.example:6443/#{SECRET}", id="fragment"),
    ],
)
def test_a_server_is_named_by_scheme_host_and_port_alone(server: str) -> None:
    assert address_of(server) == "https://cluster.example:6443"


def test_a_server_without_a_port_is_named_without_one() -> None:
    assert address_of("http://[::1]/") == "http://[::1]"


NO_ADDRESS = (
    pytest.param(f"ada:{SECRET}@127.0.0.1:1", id="no-scheme"),
    pytest.param(f"//ada:{SECRET}@127.0.0.1:1", id="no-scheme-but-slashes"),
    pytest.param(f"http://ada:{SECRET}/x@127.0.0.1:1", id="slash-in-the-password"),
    pytest.param(f"http://ada:1/{SECRET}@127.0.0.1:1", id="slash-after-digits"),
    pytest.param(f"http://ada:{SECRET}#x@127.0.0.1:1", id="hash-in-the-password"),
    pytest.param(f"https://[{SECRET}", id="half-a-bracket"),
)


@pytest.mark.parametrize("server", NO_ADDRESS)
def test_what_is_no_address_is_not_named_in_any_message(
    server: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert address_of(server) == "its address"
    write_kubeconfig(tmp_path, monkeypatch, server=server, user={"token": "some"})
    assert SECRET not in told(capsys, "list")


def test_what_is_no_watch_is_not_taken_for_credentials_that_have_expired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever stands in front of the API server may answer in its place."""
    monkeypatch.setattr(outages, "AWAY_SECONDS", 0.0)
    monkeypatch.setattr(outages, "PAUSE_SECONDS", 0.0)
    with stalling_server("", tmp_path) as (server, environment):
        made = job("digits")
        server.jobs.append({**made, "metadata": {**made["metadata"], "creationTimestamp": CREATED}})
        monkeypatch.setenv("KUBECONFIG", environment["KUBECONFIG"])
        with pytest.raises(SystemExit) as ended:
            main(["status", "digits", "--watch"])
    assert ended.value.code == 3
    said = capsys.readouterr().err
    assert "which is no event" in said
    assert "Log in" not in said


def present(**status: Any) -> dict[str, Any]:
    """The one job that the server has."""
    made = job("digits", status=status)
    labels = {contract.LABEL_SWEEP: "digits"}
    return {
        **made,
        "metadata": {**made["metadata"], "creationTimestamp": CREATED, "labels": labels},
    }


def table_of(document: dict[str, Any]) -> dict[str, Any]:
    cells = [document["metadata"]["name"], *(_at(document, path) for path in COLUMNS.values())]
    return {
        "columnDefinitions": [{"name": name} for name in ("Name", *COLUMNS)],
        "rows": [{"cells": cells, "object": {"metadata": document["metadata"]}}],
        "metadata": {"resourceVersion": "1"},
    }


def _at(document: Any, path: Sequence[str]) -> Any:
    for key in path:
        document = document.get(key, {})
    return document or None


Watched = Callable[[BaseHTTPRequestHandler, ThreadingHTTPServer, int], None]
"""How a server goes on with a watch, whose answer it has begun; told how many there were before."""


@contextmanager
def server_with(documents: Sequence[dict[str, Any]], watched: Watched) -> Iterator[str]:
    """An API server with one job, as it is before the first watch, before the second, and so on."""
    watches = 0

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            nonlocal watches
            self.send_response(200)
            if "watch=true" in self.path:
                watches += 1
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                watched(self, server, watches - 1)
                return
            document = documents[watches]
            listed = {"items": [document], "metadata": {"resourceVersion": "1"}}
            wants_table = "Table" in self.headers["Accept"]
            said = json.dumps(table_of(document) if wants_table else listed).encode()
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def leaves(handler: BaseHTTPRequestHandler, server: ThreadingHTTPServer, _earlier: int) -> None:
    """It is killed in the middle of an event."""
    server.server_close()
    handler.wfile.write(b'20\r\n{"type": "MOD')
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("words", ["list --watch", "status digits --watch"])
def test_a_server_that_goes_in_the_middle_of_a_watch_and_stays_away_ends_it_in_one_line(
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(outages, "AWAY_SECONDS", 0.0)
    monkeypatch.setattr(outages, "PAUSE_SECONDS", 0.0)
    with server_with([present()], leaves) as address:
        write_kubeconfig(tmp_path, monkeypatch, server=address, user={"token": "some"})
        with pytest.raises(SystemExit) as ended:
            main(words.split())
    said = capsys.readouterr()
    assert ended.value.code == 3
    assert "digits" in said.out
    waits, ends = said.err.splitlines()
    assert waits == "the cluster does not answer; waiting for it, 0 s at most."
    assert ends.startswith(f"spotrain: the cluster at {address} cannot be reached")


@pytest.mark.parametrize("words", ["status digits --watch", "sweep digits --follow"])
def test_a_server_that_is_back_in_a_moment_is_waited_for_and_the_job_followed_to_its_end(
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every connection ends while nothing happens, the next ones too, and meanwhile the job."""
    conditions = [{"type": states.SUCCEEDED, "status": "True", "lastTransitionTime": CREATED}]
    ended = present(state=states.SUCCEEDED, conditions=conditions)
    is_over = Event()

    def loses_the_way(*_: object) -> None:
        way.cut(refusals=2)
        is_over.wait(30)

    monkeypatch.setattr(outages, "PAUSE_SECONDS", 0.01)
    with (
        server_with([present(state=states.RUNNING), ended], loses_the_way) as address,
        way_to(int(address.rpartition(":")[2])) as way,
    ):
        server = f"http://127.0.0.1:{way.port}"
        write_kubeconfig(tmp_path, monkeypatch, server=server, user={"token": "some"})
        with pytest.raises(SystemExit) as exited:
            main(words.split())
        is_over.set()
    said = capsys.readouterr()
    assert exited.value.code == 0
    assert states.SUCCEEDED in said.out
    assert said.err.count("the cluster does not answer; waiting for it, 90 s at most.") == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [("status digits --watch", 0), ("sweep digits --follow", 0), ("list --watch", 3)],
)
def test_what_a_watch_that_fell_silent_has_kept_back_is_found_by_listing(
    words: str,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The way to the server is lost without a word, and the job ends; the list of all jobs has no
    end of its own, and is followed until the server leaves."""
    monkeypatch.setattr("spotrain.cli.cluster.SILENT_SECONDS", 0.2)
    monkeypatch.setattr(outages, "AWAY_SECONDS", 0.0)
    monkeypatch.setattr(outages, "PAUSE_SECONDS", 0.0)
    is_over = Event()

    def falls_silent(
        handler: BaseHTTPRequestHandler, server: ThreadingHTTPServer, earlier: int
    ) -> None:
        if earlier == 0:
            is_over.wait(30)
        leaves(handler, server, earlier)

    conditions = [{"type": states.SUCCEEDED, "status": "True", "lastTransitionTime": CREATED}]
    ended = present(state=states.SUCCEEDED, conditions=conditions)
    with server_with([present(state=states.RUNNING), ended], falls_silent) as address:
        write_kubeconfig(tmp_path, monkeypatch, server=address, user={"token": "some"})
        try:
            with pytest.raises(SystemExit) as exited:
                main(words.split())
        finally:
            is_over.set()
    said = capsys.readouterr()
    assert (exited.value.code, states.SUCCEEDED in said.out) == (code, True), said
