"""Logs and ports of pods, asked for as anybody asks: through the API server."""

import asyncio
import ssl
import sys
from datetime import UTC, datetime

import httpx2
import pytest
from lightkube import KubeConfig
from lightkube.config.kubeconfig import SingleConfig

from spotrain.cli.errors import NO_CLUSTER, NOT_FOUND, UserError
from spotrain.cli.listeners import local_port, private_listener
from spotrain.cli.port_forward import PortForward
from spotrain.kinds import NODES, PODS
from spotrain.local.kubelet import Kubelet
from tests.cluster.cluster import Namespace, request_token
from tests.cluster.nodes.pods import in_phase, pod, run, until_logged, until_pod
from tests.cluster.server import ADMIN_TOKEN, ISSUER
from tests.tls_threads import tls_threads

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("node")]
SERVE = "import http.server as h; h.test(h.SimpleHTTPRequestHandler, port=8123, bind='$(IP)')"


async def log(place: Namespace, name: str, **asked: str) -> str:
    """What the API server answers; its refusal, as an HTTPStatusError."""
    async with place.server.client() as http:
        path = PODS.path(place.name, name, "log")
        return (await http.get(path, params=asked, timeout=60)).raise_for_status().text


async def test_a_pods_output_is_told_and_followed(place: Namespace, kubelet: Kubelet) -> None:
    await run(place, pod("a", "for i in 1 2 3; do echo line $i; done; printf end"))
    assert await log(place, "a") == "line 1\nline 2\nline 3\nend"
    assert await log(place, "a", tailLines="2") == "line 3\nend"
    assert await log(place, "a", limitBytes="6") == "line 1"
    stamped = (await log(place, "a", timestamps="true")).splitlines()
    age = datetime.now(UTC) - datetime.fromisoformat(stamped[0].split()[0])
    assert 0 <= age.total_seconds() < 300
    assert await log(place, "a", sinceTime="2199-01-01T00:00:00Z") == ""

    script = "echo one; while ! [ -e $HOME/go-$HOSTNAME ]; do sleep 0.1; done; echo two"
    home = {"env": [{"name": "HOME", "value": str(kubelet.options.folder)}]}
    await place.kube.create(PODS, place.name, pod("b", script, container=home))
    await until_logged(kubelet, place, "b", "one")
    following = asyncio.create_task(log(place, "b", follow="true"))
    (kubelet.options.folder / "go-b").touch()
    assert await following == "one\ntwo\n"


async def test_a_line_has_the_same_time_whenever_it_is_asked_for(place: Namespace) -> None:
    await run(place, pod("a", "echo one; sleep 0.5; echo two"))
    first, again = [await log(place, "a", timestamps="true") for _ in range(2)]
    assert first == again
    one, two = (line.split()[0] for line in first.splitlines())
    assert one < two


async def test_nobody_but_the_api_server_is_heard(place: Namespace, kubelet: Kubelet) -> None:
    (node,), _ = await place.kube.list_all(NODES)
    port = node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    async with httpx2.AsyncClient(verify=tls) as http:
        with pytest.raises((httpx2.RequestError, OSError)):
            await http.get(f"https://127.0.0.1:{port}/containerLogs/{place.name}/a/main")


def config_of(place: Namespace, token: str = ADMIN_TOKEN) -> SingleConfig:
    found = KubeConfig.from_file(place.server.kubeconfig(f"forward-{place.name}", token)).get()
    assert found is not None
    return found


async def serving_pod(place: Namespace, kubelet: Kubelet) -> None:
    container = {
        "command": [sys.executable, "-u", "-c", SERVE],
        "env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
    }
    await place.kube.create(PODS, place.name, pod("web", "", container=container))
    await until_logged(kubelet, place, "web", "Serving HTTP")


async def test_a_port_of_a_pod_is_reached_through_the_api_server(
    place: Namespace, kubelet: Kubelet
) -> None:
    await serving_pod(place, kubelet)
    forward = PortForward(config_of(place), place.name, "web", 8123)

    def fetch() -> list[int]:
        with private_listener() as (listener, path), forward.listening(listener):
            transport = httpx2.HTTPTransport(uds=str(path))
            with httpx2.Client(transport=transport, base_url="http://web") as http:
                big = http.get("/requirements.lock")
                assert len(big.content) > 100_000
                return [http.get("/Makefile").status_code, http.get("/nothing").status_code]

    with tls_threads() as threads:
        assert await asyncio.to_thread(fetch) == [200, 404]
    assert threads, "the API server is spoken to under TLS"
    assert {len(each) for each in threads.values()} == {1}

    def browse() -> int:
        with local_port() as (listener, port), forward.listening(listener):
            return httpx2.get(f"http://127.0.0.1:{port}/", trust_env=False).status_code

    assert await asyncio.to_thread(browse) == 200
    assert forward.problem is None


async def test_why_a_port_cannot_be_reached_is_told(place: Namespace, kubelet: Kubelet) -> None:
    await serving_pod(place, kubelet)
    stranger = await request_token(place.kube, place.name, "default", audience=ISSUER)

    def problem(config: SingleConfig, name: str, port: int) -> UserError:
        forward = PortForward(config, place.name, name, port)
        with private_listener() as (listener, path), forward.listening(listener):
            transport = httpx2.HTTPTransport(uds=str(path))
            with httpx2.Client(transport=transport) as http, pytest.raises(httpx2.RequestError):
                http.get("http://web/")
        assert forward.problem is not None
        return forward.problem

    cases = [
        (config_of(place), "web", 8124, "port 8124 of pod web cannot be reached", NO_CLUSTER),
        (config_of(place), "nobody", 80, "pod nobody is gone", NOT_FOUND),
        (config_of(place, stranger), "web", 8123, "no permission to forward", NO_CLUSTER),
    ]
    for config, name, port, said, code in cases:
        found = await asyncio.to_thread(problem, config, name, port)
        assert said in found.message
        assert found.exit_code == code


async def test_a_lost_nodes_pods_are_out_of_reach(
    place: Namespace, kubelet: Kubelet, node: str
) -> None:
    await place.kube.create(PODS, place.name, pod("a", "echo hello; sleep 100"))
    await until_pod(place.kube, place.name, "a", in_phase("Running"))
    kubelet.machines[node].cut_off()
    with pytest.raises(httpx2.HTTPStatusError):
        await log(place, "a")
    kubelet.restore(node)
