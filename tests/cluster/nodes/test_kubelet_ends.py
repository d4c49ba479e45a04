"""How pods and nodes of the process kubelet end: with notice, without, and by hand."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from spotrain.kinds import NODES, PODS, Object
from spotrain.local.kubelet import Kubelet
from tests.cluster.cluster import Namespace, until
from tests.cluster.control_plane import ControlPlane
from tests.cluster.nodes.pods import (
    ended,
    in_phase,
    is_ready,
    logs,
    pod,
    until_gone,
    until_logged,
    until_pod,
)
from tests.cluster.nodes.processes import is_alive

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("node")]


async def start(place: Namespace, kubelet: Kubelet, name: str, script: str) -> str:
    """A pod of a script that says when it is ready; returns its uid."""
    await place.kube.create(PODS, place.name, pod(name, script))
    running = await until_pod(place.kube, place.name, name, is_ready)
    await until_logged(kubelet, place, name, "ready")
    uid: str = running["metadata"]["uid"]
    return uid


async def test_a_deleted_pod_has_its_grace_period_to_leave(
    place: Namespace, kubelet: Kubelet
) -> None:
    script = "trap 'echo leaving; exit 143' TERM; echo ready; while :; do sleep 0.05; done"
    uid = await start(place, kubelet, "g", script)

    await place.kube.delete(PODS, place.name, "g", uid=uid)
    last = await until_pod(place.kube, place.name, "g", in_phase("Failed"))

    assert last["metadata"]["deletionTimestamp"]
    assert ended(last)["exitCode"] == 143
    await until_gone(place.kube, place.name, uid)
    assert logs(kubelet, place, "g") == "ready\nleaving\n"


async def test_a_process_that_ignores_the_notice_is_killed_when_the_grace_period_is_over(
    place: Namespace, kubelet: Kubelet
) -> None:
    script = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
    uid = await start(place, kubelet, "h", script)
    pid = kubelet.pids(place.name, "h")["main"]

    await place.kube.delete(PODS, place.name, "h", uid=uid, grace_seconds=1)
    await until_gone(place.kube, place.name, uid)

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_the_end_of_a_container_takes_its_children_along(
    place: Namespace, kubelet: Kubelet
) -> None:
    await place.kube.create(PODS, place.name, pod("i", "sleep 1000 & echo $!; wait"))
    await until_pod(place.kube, place.name, "i", is_ready)
    await until_logged(kubelet, place, "i", "\n")
    child = int(logs(kubelet, place, "i"))

    os.kill(kubelet.pids(place.name, "i")["main"], signal.SIGKILL)
    over = await until_pod(place.kube, place.name, "i", in_phase("Failed"))

    assert ended(over)["exitCode"] == 137
    async with asyncio.timeout(10):
        while is_alive(child):
            await asyncio.sleep(0.01)


async def test_a_node_that_is_gone_is_noticed_by_its_silence(
    place: Namespace, kubelet: Kubelet, node: str
) -> None:
    await place.kube.create(PODS, place.name, pod("n", "sleep 1000"))
    await until_pod(place.kube, place.name, "n", is_ready)
    pid = kubelet.pids(place.name, "n")["main"]

    kubelet.machines[node].lose()

    def is_unreachable(nodes: list[Object]) -> bool:
        found = next(one for one in nodes if one["metadata"]["name"] == node)
        taints = found["spec"].get("taints") or []
        return any(taint["key"] == "node.kubernetes.io/unreachable" for taint in taints)

    await until(place.kube, NODES, "", is_unreachable)
    silent = await until_pod(place.kube, place.name, "n", lambda one: not is_ready(one))
    assert silent["status"]["phase"] == "Running"  # nobody could say otherwise
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_the_command_brings_nodes_and_takes_them_away_again(
    place: Namespace, plane: ControlPlane, tmp_path: Path
) -> None:
    name = f"{place.name}-by-hand"
    words = ["--name", name, "--image", str(tmp_path), "--folder", str(tmp_path)]
    command = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "spotrain.local.kubelet", *words),
        env={**os.environ, "KUBECONFIG": str(plane.kubeconfig)},
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert command.stdout
        async with asyncio.timeout(60):
            assert b"1 nodes" in await command.stdout.readline()
        nodes, _ = await place.kube.list_all(NODES)
        assert f"{name}-0" in {node["metadata"]["name"] for node in nodes}
        command.send_signal(signal.SIGINT)
        async with asyncio.timeout(60):
            assert await command.wait() == 0
        nodes, _ = await place.kube.list_all(NODES)
        assert f"{name}-0" not in {node["metadata"]["name"] for node in nodes}
    finally:
        if command.returncode is None:
            command.kill()
            await command.wait()
