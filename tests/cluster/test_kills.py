"""Killing the controller a hundred times while jobs change leaves what an undisturbed run leaves.

The script of changes and the places of death come from one seed. The controllers are forked from a
warm process, so that a hundred of them start in the time of a few; each is a process of its own
and dies by SIGKILL, by its own hand, around a write to the API server: before it is sent, while it
is under way, right after the answer.
"""

import asyncio
import json
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from spotrain import contract, kinds
from spotrain.controller.kube import Conflict, NotFound
from spotrain.controller.mirror import Mirror, Name
from spotrain.controller.settings import ENV_COORDINATOR_PORT, ENV_PROBE_PORT
from spotrain.kinds import JOBS, PODS, Object
from tests.cluster.cluster import (
    REPOSITORY,
    WAIT_SECONDS,
    ControllerProcess,
    Namespace,
    drop_lease,
)
from tests.cluster.conftest import controller_for, made_namespace
from tests.cluster.server import ApiServer

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

SEED = 20260811
KILLS = 100
ROUNDS = 120
"""More than are needed for so many kills."""
LARGEST = 5
Change = tuple[str, str, int]
"""(what, job, replicas or index)"""


# --- What is done to the jobs: a script, the same for every run ---


@dataclass
class Wanted:
    """How a job should stand."""

    replicas: int
    evictions: int = 0
    suspended: bool = False
    finished: bool = False

    @property
    def pods(self) -> int:
        return 0 if self.suspended or self.finished else self.replicas


def script(chance: random.Random) -> list[Change]:
    changes: list[Change] = []
    jobs: dict[str, Wanted] = {}
    for number in range(ROUNDS):
        going = [name for name, job in jobs.items() if not job.finished]
        training = [name for name in going if jobs[name].pods]
        whats = ["submit"] if len(going) < 3 else ["scale", "evict", "delete", "rest", "finish"]
        what = chance.choice(whats)
        name = f"job-{number}" if what == "submit" else chance.choice(going)
        if what in ("evict", "delete", "finish") and name not in training:
            what = "rest"
        size = chance.randint(1, LARGEST)
        if what in ("evict", "delete", "finish"):
            size = chance.randrange(jobs[name].replicas)
        apply_change(jobs, (what, name, size))
        changes.append((what, name, size))
    return changes


def apply_change(jobs: dict[str, Wanted], change: Change) -> None:
    what, name, number = change
    match what:
        case "submit":
            jobs[name] = Wanted(number)
        case "scale":
            jobs[name].replicas = number
        case "evict":
            jobs[name].evictions += 1
        case "rest":
            jobs[name].suspended = not jobs[name].suspended
        case "finish":
            jobs[name].finished = True


# --- What is seen of them ---


@dataclass
class View:
    """Jobs and pods of a namespace as the watches tell, and everything that was ever wrong."""

    namespace: Namespace
    jobs: Mirror[Object] = field(init=False)
    pods: Mirror[Object] = field(init=False)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        def mirror(kind: kinds.Kind, told: Callable[..., None]) -> Mirror[Object]:
            return Mirror(
                kind=kind, parse=lambda item: item, changed=told, namespace=self.namespace.name
            )

        self.jobs = mirror(JOBS, lambda *_: self.changed.set())
        self.pods = mirror(PODS, self._pod_changed)

    def _pod_changed(self, name: Name, old: Object | None, new: Object | None) -> None:
        self.changed.set()
        if new is None:
            return
        owner = new["metadata"]["ownerReferences"][0]
        job = self.jobs.items.get((name[0], owner["name"]))
        if job is None or job["metadata"]["uid"] != owner["uid"]:
            self.faults.append(f"{name[1]} is nobody's")
        of_job = [pod for pod in self.pods.items.values() if owner_of(pod) == owner["name"]]
        if len(of_job) > LARGEST:
            self.faults.append(f"{owner['name']} has {len(of_job)} pods")
        if old is None and int(name[1].rpartition("-")[2]) >= LARGEST:
            self.faults.append(f"{name[1]} is out of range")

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        tasks = [
            asyncio.create_task(mirror.follow(self.namespace.kube))
            for mirror in (self.jobs, self.pods)
        ]
        await self.jobs.synced.wait()
        await self.pods.synced.wait()
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()

    def state(self) -> dict[str, Any]:
        """All of it that does not depend on when it happened."""
        return {name: self._state_of(name, job) for (_, name), job in self.jobs.items.items()}

    def _state_of(self, name: str, job: Object) -> dict[str, Any]:
        status = job.get("status") or {}
        return {
            "pods": sorted(p["metadata"]["name"] for p in self._pods_of(name)),
            "conditions": {c["type"]: c["status"] for c in status.get("conditions") or []},
            "active": status.get("replicaStatuses", {}).get("Worker", {}).get("active", 0),
            "restarts": status.get("restarts", {}),
            "generation": status.get("observedGeneration") == job["metadata"]["generation"],
        }

    def _pods_of(self, name: str) -> list[Object]:
        return [pod for pod in self.pods.items.values() if owner_of(pod) == name]

    def is_settled(self, wanted: dict[str, Wanted]) -> bool:
        state = self.state()
        return state.keys() == wanted.keys() and all(
            is_as_wanted(state[name], job) for name, job in wanted.items()
        )

    async def until_gone(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        async with asyncio.timeout(WAIT_SECONDS):
            while any(each["metadata"]["uid"] == uid for each in self.pods.items.values()):
                self.changed.clear()
                await self.changed.wait()

    async def collect_pods(self) -> None:
        """As kube-controller-manager does: a removal that dies with who asked for it can leave a
        pod marked, and there."""
        for pod in list(self.pods.items.values()):
            if pod["metadata"].get("deletionTimestamp"):
                with suppress(NotFound, Conflict):
                    await self.namespace.delete_pod(pod)

    def pod(self, job: str, index: int) -> Object:
        return self.pods.items[self.namespace.name, f"{job}-worker-{index}"]


def owner_of(pod: Object) -> str:
    return str(pod["metadata"]["ownerReferences"][0]["name"])


def is_as_wanted(state: dict[str, Any], job: Wanted) -> bool:
    return bool(
        state["generation"]
        and len(state["pods"]) == state["active"] == job.pods
        and (state["conditions"].get("Succeeded") == "True") == job.finished
        and (state["conditions"].get("Suspended") == "True") == (job.suspended and not job.finished)
        and state["restarts"].get("disruptions", 0) == job.evictions
    )


async def change_cluster(view: View, change: Change) -> None:
    namespace, (what, name, number) = view.namespace, change
    match what:
        case "submit":
            await namespace.submit(
                name,
                number,
                minReplicas=1,
                maxReplicas=LARGEST,
                runPolicy={"cleanPodPolicy": "All"},
            )
        case "scale":
            spec: Object = {"replicaSpecs": {contract.WORKER: {"replicas": number}}}
            await namespace.kube.patch(JOBS, namespace.name, name, {"spec": spec})
        case "evict":
            pod = view.pod(name, number)
            await namespace.set_pod_status(pod, phase="Failed", reason="Evicted")
        case "delete":
            pod = view.pod(name, number)
            await namespace.delete_pod(pod)
            await view.until_gone(pod)  # or what was before it would be taken for what came of it
        case "rest":
            job = view.jobs.items[namespace.name, name]
            spec = {"suspend": not job["spec"].get("suspend", False)}
            await namespace.kube.patch(JOBS, namespace.name, name, {"spec": spec})
        case "finish":
            await namespace.set_pod_status(view.pod(name, number), phase="Succeeded")


# --- Who is killed ---


@dataclass
class Warm:
    """Forks controllers on order; `died` is set when the last one has."""

    controller: ControllerProcess
    log: Path
    kills: int = 0
    process: asyncio.subprocess.Process | None = None
    pid: int = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.cluster.warm",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=REPOSITORY,
        )
        try:
            yield
        finally:
            self.process.kill()
            await self.process.wait()

    async def start(self, **death: Any) -> None:
        assert self.process
        assert self.process.stdin
        environment = {
            "KUBECONFIG": str(self.controller.kubeconfig),
            contract.ENV_JOB_NAMESPACE: self.controller.namespace,
            ENV_COORDINATOR_PORT: str(self.controller.port),
            ENV_PROBE_PORT: str(self.controller.probes),
        }
        order = {"environment": environment, "log": str(self.log), **death}
        self.process.stdin.write((json.dumps(order) + "\n").encode())
        self.pid = (await self._hear())["pid"]

    async def ended(self) -> None:
        """It died by SIGKILL, and its Lease with it: nobody needs to wait for that."""
        said = await self._hear()
        assert os.WTERMSIG(said["ended"]) == signal.SIGKILL, self.log.read_text()[-4000:]
        self.kills += 1
        await drop_lease(self.controller.kube)

    async def _hear(self) -> dict[str, int]:
        assert self.process
        assert self.process.stdout
        said: dict[str, int] = json.loads(await self.process.stdout.readline())
        return said


async def until_settled(view: View, wanted: dict[str, Wanted], death: "asyncio.Task[None]") -> bool:
    """False: the controller died before."""
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while not view.is_settled(wanted):
                view.changed.clear()
                await view.collect_pods()
                change = asyncio.create_task(view.changed.wait())
                await asyncio.wait({change, death}, return_when=asyncio.FIRST_COMPLETED)
                change.cancel()
                if death.done():
                    death.result()
                    return False
    except TimeoutError:
        raise AssertionError(f"wanted {wanted}, came to {view.state()}") from None
    return True


def place_of_death(chance: random.Random) -> dict[str, Any]:
    return {
        "write": chance.randint(1, 3),
        "phase": chance.choice(("before", "under way", "after")),
        "seconds": chance.uniform(0.0, 0.01),
    }


@dataclass
class Story:
    """What came of it."""

    states: list[dict[str, Any]]
    kills: int
    faults: list[str]


async def play(
    server: ApiServer, changes: list[Change], *, folder: Path, deaths: random.Random | None
) -> Story:
    """Every change meets the controller that is there. With `deaths` it dies at one of its next
    writes, and so does each that comes after it, until `KILLS` are had; without, one controller
    sees it all."""
    async with server.client() as http:
        namespace = await made_namespace(server, server.kube(http))
        async with controller_for(namespace) as controller:
            warm, view = Warm(controller, folder / "controller.log"), View(namespace)
            wanted: dict[str, Wanted] = {}
            states: list[dict[str, Any]] = []
            async with warm.running(), view.followed():
                present: asyncio.Task[None] | None = None
                for change in changes:
                    apply_change(wanted, change)
                    await change_cluster(view, change)
                    while present is None or not await until_settled(view, wanted, present):
                        is_doomed = deaths and warm.kills < KILLS
                        await warm.start(**place_of_death(deaths) if deaths and is_doomed else {})
                        present = asyncio.create_task(warm.ended())
                    states.append(view.state())
                    if deaths and warm.kills == KILLS:
                        break
                kills = warm.kills
                if present and not present.done():
                    os.kill(warm.pid, signal.SIGKILL)
                    await present
            return Story(states, kills, view.faults)


@pytest.mark.acceptance(37)
async def test_a_hundred_kills_make_no_pod_twice_leave_no_orphan_and_change_no_outcome(
    server: ApiServer, tmp_path: Path
) -> None:
    changes = script(random.Random(SEED))
    killed = await play(server, changes, folder=tmp_path, deaths=random.Random(SEED + 1))
    rounds = len(killed.states)
    undisturbed = await play(server, changes[:rounds], folder=tmp_path, deaths=None)

    assert (killed.kills, undisturbed.kills) == (KILLS, 0)
    assert killed.faults == undisturbed.faults == []
    for number, change in enumerate(changes[:rounds]):
        assert killed.states[number] == undisturbed.states[number], f"round {number}: {change}"


def test_the_script_has_every_kind_of_change() -> None:
    kinds_of_change = {what for what, _, _ in script(random.Random(SEED))}
    assert kinds_of_change == {"submit", "scale", "evict", "delete", "rest", "finish"}
