"""The local engine: jobs of real processes on nodes made of paper."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from spotrain.job import Pool, parse_job, parse_pools
from spotrain.ledger.entries import StayEntry
from spotrain.local import engine as engine_module
from spotrain.local.engine import Engine
from spotrain.local.image import Image, NotLocal
from spotrain.local.job_files import JobFiles
from spotrain.local.machines import Options

ROOT = Path(__file__).resolve().parents[2]
HANG_SECONDS = 120


def pools() -> tuple[Pool, ...]:
    text = (ROOT / "k8s" / "examples" / "pools.yaml").read_text()
    return parse_pools(yaml.safe_load(text)["data"]["pools.yaml"])


def engine(folder: Path, command: list[str], **changes: Any) -> Engine:
    """A job of one or two workers that run a shell command instead of an agent."""
    container = {
        "name": "elasticjob-worker",
        "image": "any",
        "command": command,
        "resources": {"limits": {"nvidia.com/gpu": 1}},
        **changes.pop("container", {}),
    }
    document = {
        "apiVersion": "elastic.pytorch.org/v1alpha1",
        "kind": "ElasticJob",
        "metadata": {"name": "job", "namespace": "elastic-job"},
        "spec": {
            "minReplicas": 1,
            "maxReplicas": 2,
            "placement": {"gpu": "t4"},
            "replicaSpecs": {
                "Worker": {"replicas": 2, "template": {"spec": {"containers": [container]}}}
            },
        },
    }
    options = Options(folder=folder, image=Image(workdir=ROOT), boot_seconds=0.01, **changes)
    return Engine(parse_job(document), pools(), options)


async def until(job: Engine, holds: Any) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        await job.until(holds)


def running(job: Engine) -> int:
    return sum(pod.phase == "Running" for pod in job.machines.pods)


def zones(job: Engine) -> list[str]:
    """Where the workers run."""
    return [pod.node.zone for pod in job.machines.pods if pod.node and pod.phase == "Running"]


SLEEP = ["sleep", "1000"]


async def test_each_worker_gets_a_node_of_the_gpu_that_the_job_asks_for(tmp_path: Path) -> None:
    job = engine(tmp_path, SLEEP)
    async with job.running():
        await until(job, lambda: running(job) == 2)
        nodes = {pod.node.name for pod in job.machines.pods if pod.node}
        assert len(nodes) == 2
        assert {node.pool.gpu for node in job.machines.nodes} == {"t4"}
        assert len({node.zone for node in job.machines.nodes}) == 1


async def test_a_reclaimed_node_gives_its_pod_time_and_is_replaced(tmp_path: Path) -> None:
    trap = "trap 'echo saved > saved; exit 143' TERM; while :; do sleep 0.05; done"
    job = engine(tmp_path, ["sh", "-c", trap], container={"workingDir": str(tmp_path)})
    async with job.running():
        await until(job, lambda: running(job) == 2)
        await _until_trapped(job, tmp_path)
        node = job.machines.alive[0]
        job.machines.reclaim(node)
        await until(job, lambda: node.ended_at is not None)
        await until(job, lambda: running(job) == 2)
        assert len(job.machines.nodes) == 3
    assert (tmp_path / "saved").read_text() == "saved\n"
    assert job.status.restarts.disruptions == 1
    assert job.status.restarts.failures == 0


async def _until_trapped(job: Engine, folder: Path) -> None:
    """Until every shell has set its trap: it then runs its first sleep as a child."""
    pids = [process.pid for process in job.machines.processes]
    async with asyncio.timeout(HANG_SECONDS):
        while not all(pid and Path(f"/proc/{pid}/task/{pid}/children").read_text() for pid in pids):
            await asyncio.sleep(0.01)


async def test_a_destroyed_node_kills_at_once_and_counts_as_no_failure(tmp_path: Path) -> None:
    job = engine(tmp_path, SLEEP)
    async with job.running():
        await until(job, lambda: running(job) == 2)
        lost = job.machines.alive[0]
        job.machines.destroy(lost)
        await until(job, lambda: len(job.machines.alive) == 2)
        await until(job, lambda: running(job) == 2)
        await until(job, lambda: len(known(job)) == 3)
    assert job.status.restarts.failures == 0
    (ended,) = [stay for stay in known(job) if stay.ended_at]
    assert ended.node == lost.name
    assert ended.place
    assert (ended.place.pool, ended.place.zone) == (lost.pool.name, lost.zone)


async def test_nodes_that_a_suspended_job_has_left_go_when_they_have_been_idle_for_long_enough(
    tmp_path: Path,
) -> None:
    job = engine(tmp_path, SLEEP, idle_seconds=0.2)
    async with job.running():
        await until(job, lambda: running(job) == 2)
        job.change(replace(job.job, suspend=True))
        await until(job, lambda: not job.machines.pods)
        assert len(job.machines.alive) == 2
        await until(job, lambda: not job.machines.alive)
        job.change(replace(job.job, suspend=False))
        await until(job, lambda: running(job) == 2)
    assert [node.gone_at is None for node in job.machines.nodes] == [False] * 4


async def test_that_it_lives_is_written_down_when_nothing_happens_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "BEAT_SECONDS", 0.02)
    job, files = engine(tmp_path, SLEEP), JobFiles(tmp_path)
    async with job.running():
        await until(job, lambda: running(job) == 2)
        told, first = len(job.story), files.last_alive
        assert first is not None
        later = first + timedelta(seconds=0.1)
        await until(job, lambda: (files.last_alive or first) > later)
        assert len(job.story) == told


async def test_only_a_job_that_stays_is_told_how_to_go_on(tmp_path: Path) -> None:
    job = engine(tmp_path, SLEEP)

    def told() -> str:
        return " ".join(happening.text for happening in job.story)

    async with job.running():
        await until(job, lambda: running(job) == 2)
        job.change(replace(job.job, suspend=True))
        await until(job, lambda: not job.machines.pods)
        assert "To go on from there: spotrain resume job --local." in told()
        job.change(replace(job.job, suspend=False))
        await until(job, lambda: running(job) == 2)
        job.story.clear()
        job.delete(replace(job.job, suspend=True))
        await until(job, lambda: not job.machines.pods)
        assert "Deleted: its workers save and leave." in told()
        assert "resume" not in told()


async def test_a_node_that_has_a_pod_again_is_not_taken_for_idle(tmp_path: Path) -> None:
    job = engine(tmp_path, SLEEP, idle_seconds=3600.0)
    async with job.running():
        await until(job, lambda: running(job) == 2)
        job.change(replace(job.job, suspend=True))
        await until(job, lambda: not job.machines.pods)
        job.change(replace(job.job, suspend=False))
        await until(job, lambda: running(job) == 2)
        assert [node.idle_since for node in job.machines.nodes] == [None, None]


def known(job: Engine) -> tuple[StayEntry, ...]:
    """What the ledger says of pods."""
    return job.status.ledger.stays if job.status.ledger else ()


async def test_without_machines_pods_wait_and_start_when_there_are_some(tmp_path: Path) -> None:
    job = engine(tmp_path, SLEEP, capacity=1)
    async with job.running():
        await until(job, lambda: running(job) == 1)
        assert sum(pod.phase == "Pending" for pod in job.machines.pods) == 1
        job.machines.set_capacity(2)
        await until(job, lambda: running(job) == 2)


async def test_a_pod_that_still_waits_for_the_same_is_no_news(tmp_path: Path) -> None:
    """Whoever explains it learns since when it waits, and no file is written anew at each turn."""
    job = engine(tmp_path, SLEEP, capacity=1)
    async with job.running():
        await until(job, lambda: running(job) == 1)
        before = dict(job.machines.remarks)
        assert any("NotTrigger" in remark.reason for remark in before.values())
        job.machines.schedule()
        assert job.machines.remarks == before
        job.machines.set_capacity(2)
        job.machines.schedule()
        assert job.machines.remarks != before


async def test_leaving_the_engine_leaves_no_process_behind(tmp_path: Path) -> None:
    job = engine(tmp_path, SLEEP)
    async with job.running():
        await until(job, lambda: running(job) == 2)
        pids = [process.pid for process in job.machines.processes]
    assert len(pids) == 2
    assert not any(_is_alive(pid) for pid in pids)


async def test_a_killed_engine_takes_its_processes_with_it(tmp_path: Path) -> None:
    code = (
        "import asyncio, pathlib, sys\n"
        "from tests.local.test_engine import SLEEP, engine, running, until\n"
        "async def main():\n"
        "    job = engine(pathlib.Path(sys.argv[1]), SLEEP)\n"
        "    async with job.running():\n"
        "        await until(job, lambda: running(job) == 2)\n"
        "        print(*(p.pid for p in job.machines.processes), flush=True)\n"
        "        await asyncio.sleep(1000)\n"
        "asyncio.run(main())\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert child.stdout is not None
    with child.stdout:
        pids = [int(word) for word in child.stdout.readline().split()]
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert len(pids) == 2
    async with asyncio.timeout(HANG_SECONDS):
        while any(_is_alive(pid) for pid in pids):
            await asyncio.sleep(0.01)


def _is_alive(pid: int | None) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


async def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        job = engine(tmp_path, SLEEP, port=port)
        with pytest.raises(OSError, match=str(port)):
            async with job.running():
                pass


async def test_what_only_a_cluster_has_ends_the_run_with_its_name(tmp_path: Path) -> None:
    secret = {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    job = engine(tmp_path, SLEEP, container={"env": [secret]})
    with pytest.raises(NotLocal, match="KEY"):
        async with job.running():
            await until(job, lambda: job.status.finished)


async def test_when_its_zone_dries_up_the_whole_job_goes_to_the_next_one(tmp_path: Path) -> None:
    """The worker that is left gives up its node, too: after a notice, so that it can save."""
    trap = "trap 'echo saved > saved; exit 143' TERM; while :; do sleep 0.05; done"
    job = engine(tmp_path, ["sh", "-c", trap], container={"workingDir": str(tmp_path)})
    quick = job.job.placement.model_copy(update={"move_after_seconds": 1})
    job.job = replace(job.job, min_replicas=2, placement=quick)
    async with job.running():
        await until(job, lambda: running(job) == 2)
        await _until_trapped(job, tmp_path)
        first, last = pools()[0].zones
        job.machines.groups = [
            replace(group, capacity=0 if group.zone == first else 64)
            for group in job.machines.groups
        ]
        job.machines.destroy(job.machines.alive[0])
        await until(job, lambda: zones(job) == [last, last])
    assert (tmp_path / "saved").read_text() == "saved\n"
    (page,) = job.status.offer_history
    assert (page.zone, page.reason) == (first, "NoNodes")
    assert job.status.restarts.failures == 0
