"""What a real shell completes."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import pytest

from spotrain.cli.local_jobs import ENV_FOLDER
from spotrain.local.shelf import Settings, Shelf
from tests.cli.documents import job
from tests.cli.terminal import Terminal, terminal

SCRIPTS = Path(sys.executable).parent


def completed(folder: Path, *words: str, **more: str) -> list[str]:
    """What bash offers for the last word."""
    typed = " ".join(f"'{word}'" for word in ("spotrain", *words))
    script = f"""
        eval "$(_SPOTRAIN_COMPLETE=source_bash spotrain)"
        COMP_WORDS=({typed}) COMP_CWORD={len(words)}
        _spotrain_completion spotrain
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    environment = {
        "PATH": f"{SCRIPTS}:{os.environ['PATH']}",
        "HOME": str(folder),
        ENV_FOLDER: str(folder),
        **more,
    }
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("digits", "digits-2", "words"):
        Shelf(tmp_path).add(job(name), Settings(workdir="/"))
    return tmp_path


def test_the_shell_completes_verbs_options_and_names(folder: Path) -> None:
    assert completed(folder, "st") == ["status", "stop"]
    assert completed(folder, "status", "--wat") == ["--watch"]
    assert completed(folder, "status", "--local", "dig") == ["digits", "digits-2"]


def test_without_a_cluster_nothing_is_offered_and_nothing_said(folder: Path) -> None:
    assert completed(folder, "status", "dig") == []


@contextmanager
def shell(program: str, folder: Path, **more: str) -> Iterator[Terminal]:
    """An interactive shell that has loaded the completion, at its first prompt."""
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    load = f'PS1="> "\neval "$(_SPOTRAIN_COMPLETE=source_{program} spotrain)"\n'
    (folder / ".bashrc").write_text(load)
    (folder / ".zshrc").write_text(f"autoload -Uz compinit && compinit -u -D\n{load}")
    environment = {
        "PATH": f"{SCRIPTS}:{os.environ['PATH']}",
        "HOME": str(folder),
        "ZDOTDIR": str(folder),
        "INPUTRC": os.devnull,
        ENV_FOLDER: str(folder),
        **more,
    }
    words = ("--noprofile", "-i") if program == "bash" else ("-i",)
    with terminal(*words, program=(program,), folder=folder, environment=environment) as opened:
        opened.read_until("> ")
        yield opened


@pytest.mark.parametrize("program", ["bash", "zsh"])
def test_tab_completes_what_is_typed_in_a_shell(program: str, folder: Path) -> None:
    with shell(program, folder) as opened:
        opened.press(b"spotrain sta\t")
        opened.read_until("tatus ")  # zsh draws the line anew from where it changes
        opened.press(b"--local wo\t")
        opened.read_until("words ")


@contextmanager
def endless_answer() -> Iterator[str]:
    """The address of a server whose answers never end, and never pause for long."""
    closed = Event()

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
            while not closed.wait(0.2):
                connection.sendall(b" ")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = Thread(target=lambda: answer(server.accept()[0]))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            closed.set()
            thread.join()


def kubeconfig(folder: Path, server: str) -> Path:
    document = {
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "clusters": [{"name": "test", "cluster": {"server": server}}],
        "users": [{"name": "test", "user": {"token": "none"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(document))
    return path


def test_a_cluster_that_does_not_come_to_an_end_is_not_waited_for(folder: Path) -> None:
    with endless_answer() as server:
        config = str(kubeconfig(folder, server))
        with shell("bash", folder, KUBECONFIG=config) as opened:
            opened.press(b"spotrain status dig\t")
            opened.press(b"its --local\n")
            opened.read_until("digits")
            assert "Traceback" not in opened.text


@pytest.mark.parametrize(
    "text", ["{", "[]", "current-context: x"], ids=["yaml", "list", "dangling"]
)
def test_a_spoilt_kubeconfig_is_no_matter_for_completion(folder: Path, text: str) -> None:
    (folder / "spoilt").write_text(text)
    assert completed(folder, "status", "dig", KUBECONFIG=str(folder / "spoilt")) == []
