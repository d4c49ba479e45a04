"""The controller's settings and probes."""

import asyncio

import pytest

from spotrain import contract
from spotrain.controller.probes import answering, respond
from spotrain.controller.settings import Settings
from spotrain.controller.variables import SettingsError


def test_without_a_setting_every_namespace_is_served_on_the_contracts_ports() -> None:
    settings = Settings.read({})
    assert settings.namespace == ""
    assert settings.coordinator_port == contract.COORDINATOR_PORT
    assert settings.probe_port == contract.METRICS_PORT


def test_every_setting_has_its_variable() -> None:
    environment = {
        "SPOTRAIN_JOB_NAMESPACE": "elastic-job",
        "SPOTRAIN_COORDINATOR_PORT": "9443",
        "SPOTRAIN_LISTEN_ADDRESS": "::",
        "SPOTRAIN_METRICS_PORT": "9080",
        "SPOTRAIN_NODE_LOST_SECONDS": "0.5",
        "SPOTRAIN_MAX_GPUS_PER_RESEARCHER": "16",
        "SPOTRAIN_LOG_LEVEL": "debug",
        "SPOTRAIN_NAMESPACED": "true",
    }
    assert Settings.read(environment) == Settings(
        namespace="elastic-job",
        coordinator_port=9443,
        listen_address="::",
        probe_port=9080,
        node_lost_seconds=0.5,
        max_gpus_per_researcher=16,
        log_level="DEBUG",
        is_namespaced=True,
    )


def test_rights_over_one_namespace_need_its_name() -> None:
    with pytest.raises(
        SettingsError, match="SPOTRAIN_NAMESPACED=true needs SPOTRAIN_JOB_NAMESPACE"
    ):
        Settings.read({"SPOTRAIN_NAMESPACED": "true"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SPOTRAIN_COORDINATOR_PORT", "https"),
        ("SPOTRAIN_COORDINATOR_PORT", "0"),
        ("SPOTRAIN_LISTEN_ADDRESS", "everywhere"),
        ("SPOTRAIN_METRICS_PORT", "65536"),
        ("SPOTRAIN_NODE_LOST_SECONDS", "-1"),
        ("SPOTRAIN_NODE_LOST_SECONDS", "nan"),
        ("SPOTRAIN_LOG_LEVEL", "loud"),
        ("SPOTRAIN_NAMESPACED", "yes"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_its_variable(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name) as refused:
        Settings.read({name: value})
    assert value.upper() in str(refused.value).upper()


@pytest.mark.acceptance(40)
@pytest.mark.parametrize(
    ("path", "is_ready", "status"),
    [
        ("/healthz", False, b"200"),
        ("/readyz", True, b"200"),
        ("/readyz", False, b"503"),
        ("/", True, b"404"),
    ],
)
def test_a_probe_is_answered(path: str, is_ready: bool, status: bytes) -> None:
    assert respond(path, is_ready).split(b" ")[1] == status


async def test_probes_are_answered_over_http_and_nonsense_harms_nobody() -> None:
    async with answering("127.0.0.1", 0, lambda: True) as port:
        assert await ask(port, b"\x16\x03\x01\r\n\r\n") != b""
        assert (await ask(port, b"GET /" + b"x" * 5000 + b"\r\n\r\n")) == b""
        answer = await ask(port, b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"ready\n")


async def ask(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    try:
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_a_limit_for_researchers_that_is_no_number_of_gpus_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="leave it empty for no limit"):
        Settings.read({"SPOTRAIN_MAX_GPUS_PER_RESEARCHER": text})
