"""What is asked of Compute Engine to take back a machine, and what becomes of its answers."""

from collections.abc import Iterator
from typing import Any

import pytest

from spotrain.clouds.answers import NotInterrupted
from spotrain.clouds.gcp_interruption import (
    START_SECONDS,
    Instance,
    connect,
    instance_of,
    interrupt,
    require_spot,
)
from tests.clouds.google_server import (
    BUSY,
    DENIED,
    NOT_FOUND,
    UNAUTHENTICATED,
    Answer,
    GoogleServer,
    google_server,
)

NAME = "gke-dev-t4-spot-a-1a2b3c4d-x1y2"
HERE = Instance("my-project", "us-central1-a", NAME)
PATH = f"compute/{HERE.path}"
STRIKE = f"{PATH}/simulateMaintenanceEvent"
OPERATION = "compute/compute/v1/projects/my-project/zones/us-central1-a/operations/operation-1"
SPOT = {"name": NAME, "status": "RUNNING", "scheduling": {"provisioningModel": "SPOT"}}


def operation(status: str, *errors: str) -> Answer:
    told: dict[str, Any] = {"name": "operation-1", "status": status}
    if errors:
        told["error"] = {"errors": [{"code": "ERROR", "message": each} for each in errors]}
    return 200, told


@pytest.fixture
def google() -> Iterator[GoogleServer]:
    with google_server() as server:
        server.answers = {PATH: (200, SPOT), STRIKE: operation("PENDING")}
        server.answers[OPERATION] = [operation("PENDING"), operation("RUNNING")]
        yield server


def test_a_node_names_its_machine() -> None:
    assert instance_of(f"gce://my-project/us-central1-a/{NAME}") == HERE


@pytest.mark.parametrize("provider_id", ["", "kind://docker/kind/node", "aws:///us-east-1a/i-0123"])
def test_a_node_of_anybody_else_is_refused(provider_id: str) -> None:
    with pytest.raises(NotInterrupted, match="without --real"):
        instance_of(provider_id)


def test_it_is_asked_for_once_and_awaited_until_it_has_begun(google: GoogleServer) -> None:
    waits: list[float] = []
    require_spot(google.client(), HERE)
    interrupt(google.client(), HERE, sleep=waits.append)
    assert google.paths == [PATH, STRIKE, OPERATION, OPERATION]
    assert waits == [0.5, 1.0]


def test_a_request_that_met_a_busy_server_is_not_sent_twice(google: GoogleServer) -> None:
    """Nobody knows whether the first one was heard."""
    google.answers[STRIKE] = [BUSY, operation("DONE")]
    with pytest.raises(NotInterrupted, match="RESOURCE_EXHAUSTED"):
        interrupt(google.client(), HERE)
    assert google.paths == [STRIKE]


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        pytest.param({"scheduling": {"provisioningModel": "STANDARD"}}, "no spot", id="paid"),
        pytest.param({"scheduling": {"preemptible": False}}, "no spot machine", id="old-form"),
        pytest.param({"status": "STOPPING"}, "does not run", id="going-already"),
    ],
)
def test_only_a_spot_machine_that_runs_is_taken_back(
    google: GoogleServer, machine: dict[str, Any], said: str
) -> None:
    google.answers[PATH] = (200, {**SPOT, **machine})
    with pytest.raises(NotInterrupted, match=said):
        require_spot(google.client(), HERE)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(DENIED, "ask for .*simulateMaintenanceEvent", id="denied"),
        pytest.param(NOT_FOUND, "kubectl get nodes", id="gone"),
        pytest.param(UNAUTHENTICATED, "application-default login", id="nobody"),
        pytest.param(
            operation("DONE", "Maintenance events are not for\nthis machine."),
            "did not take back .*: Maintenance events are not for this machine. Drill",
            id="an-operation-that-fails",
        ),
    ],
)
def test_a_refusal_says_what_to_do_in_one_line(
    google: GoogleServer, answer: Answer, said: str
) -> None:
    google.answers[STRIKE] = answer
    with pytest.raises(NotInterrupted, match=said) as refused:
        interrupt(google.client(), HERE)
    assert "\n" not in str(refused.value)


def test_an_operation_that_never_begins_is_given_up(google: GoogleServer) -> None:
    google.answers[OPERATION] = operation("PENDING")
    waits: list[float] = []
    with pytest.raises(NotInterrupted, match="it is PENDING"):
        interrupt(google.client(), HERE, sleep=waits.append)
    assert START_SECONDS <= sum(waits) < 2 * START_SECONDS


def test_whoever_is_not_logged_in_is_told_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/gone.json")
    with pytest.raises(NotInterrupted, match="application-default login"):
        connect()
