"""kubectl understands every command of the pages, before a server that has all that a stack makes.

What a command names by a placeholder is not there, so NotFound is an answer; an unknown resource
type, a misspelled flag or a broken expression is none.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from stacks.pages.stacks import QUARRY, recording_of
from tests.cluster.objects import objects_at
from tests.cluster.server import ADMIN_TOKEN, etcd_for_api_server
from tests.cluster.test_stack_objects import applied
from tests.docs.pages import Command, commands

pytestmark = [
    pytest.mark.cluster,
    # pulumi_eks deprecates one of its own classes as it is imported; we use another one.
    pytest.mark.filterwarnings("ignore:NodeGroup uses:DeprecationWarning"),
]
BUSY = {
    "apply": "reads what an earlier command of the line has written",
    "port-forward": "stays until it is stopped",
    "rollout": "waits for controllers",
    "wait": "waits for controllers",
}
"""Verbs that are not tried here -> why."""
ENDLESS = {"--watch", "--follow"}
NOBODY_THERE = ("NotFound", "not found", "No resources found")
SECONDS = 60.0


def arguments(command: Command) -> list[str]:
    """Whatever cluster they are for, with the namespace that a person would have in $NS."""
    words = [word for word in command.words[1:] if word not in ENDLESS]
    if words[0] == "--context":
        words = words[2:]
    return [word.replace("$NS", "elastic-job") for word in words]


def verb(words: list[str]) -> str:
    return words[2] if words[0] == "-n" else words[0]


def complete() -> dict[str, list[str]]:
    """Line -> arguments. What a text names in passing, such as `kubectl logs`, is no command."""
    every = {" ".join(words): words for words in map(arguments, commands("kubectl"))}
    return {
        line: words for line, words in every.items() if verb(words) not in BUSY and len(words) > 1
    }


COMMANDS = complete()


@pytest.fixture(scope="module")
def kubeconfig(binaries: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if shutil.which("kubectl") is None:
        pytest.skip("needs kubectl on the PATH")
    folder = tmp_path_factory.mktemp("documented")
    with (
        etcd_for_api_server(binaries, folder) as server,
        server.running(),
        objects_at(server) as objects,
    ):
        assert applied(recording_of(QUARRY.stem), objects).refused == {}
        yield server.kubeconfig("admin", ADMIN_TOKEN)


def kubectl(kubeconfig: Path, arguments: list[str]) -> "subprocess.CompletedProcess[str]":
    environment = {"KUBECONFIG": str(kubeconfig), "HOME": str(kubeconfig.parent)}
    return subprocess.run(
        ["kubectl", *arguments],
        env={**environment, "PATH": os.environ["PATH"]},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


@pytest.mark.parametrize("line", COMMANDS)
def test_kubectl_understands_it(line: str, kubeconfig: Path) -> None:
    answer = kubectl(kubeconfig, COMMANDS[line])
    understood = answer.returncode == 0 or any(word in answer.stderr for word in NOBODY_THERE)
    assert understood, answer.stderr


@pytest.mark.parametrize(
    "mistake",
    [
        ["get", "elasticjob", "-n", "elastic-job", "--sortby", "x"],
        ["get", "elasticworkers", "-A"],
        ["get", "pods", "-A", "-o", "jsonpath={.items[?(@.x==]}"],
    ],
    ids=["flag", "kind", "expression"],
)
def test_a_mistake_is_noticed(mistake: list[str], kubeconfig: Path) -> None:
    answer = kubectl(kubeconfig, mistake)
    assert answer.returncode != 0
    assert not any(word in answer.stderr for word in NOBODY_THERE)
