"""A real job on made-up nodes: submitted, interrupted, and watched through what it writes down."""

import asyncio
import copy
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml

from demo.digits import write_digits
from spotrain import contract
from spotrain.job import worker_name
from spotrain.kinds import JOBS, NODES, PODS, Kind, Object
from spotrain.local.kubelet import Kubelet, NodeSpec
from tests.cluster.cluster import REPOSITORY, Namespace, until
from tests.cluster.nodes.processes import descendants, is_alive, open_files
from tests.cluster.nodes.written import Written

EXAMPLES = REPOSITORY / "k8s" / "examples"
CLAIM = "efs"
FOREVER = 1_000_000
"""Epochs of a job that is to train for as long as the test wants."""
HANG_SECONDS = 240.0
SETTLED_STEPS = 20
"""So many steps by each rank show that a world trains."""
LOOK_SECONDS = 0.05


@dataclass
class Training:
    """The example job digits.yaml, whose steps the ranks write to the shared volume."""

    place: Namespace
    kubelet: Kubelet
    name: str = "digits"
    document: Object = field(default_factory=dict)
    images: int = 0
    story: list[str] = field(default_factory=list)
    """What happened and how long it took; shown where a test fails."""

    # --- The job ---

    async def submit(self, *, replicas: int, low: int = 1, high: int = 3) -> None:
        shared = self.kubelet.options.claims[CLAIM]
        if not (data := shared / "data" / "digits").is_dir():
            await self.place.claim(CLAIM)
            write_digits(data)
        self.images = sum(1 for _ in data.glob("train/*/*.png"))
        job = yaml.safe_load((EXAMPLES / "digits.yaml").read_text())
        job["metadata"] = {"name": self.name, "namespace": self.place.name}
        job["spec"] |= {"minReplicas": low, "maxReplicas": high}
        worker = job["spec"]["replicaSpecs"][contract.WORKER]
        worker["replicas"] = replicas
        container = worker["template"]["spec"]["containers"][0]
        container["args"] = [self._argument(word) for word in container["args"]]
        container["resources"]["requests"] = {"cpu": "1", "memory": "1Gi"}
        container["env"] = [
            {"name": contract.ENV_SAMPLE_LOG, "value": f"/mnt/efs/samples/{self.name}"},
            {"name": "OMP_NUM_THREADS", "value": "1"},
        ]
        self.document = await self.place.kube.create(JOBS, self.place.name, job)

    def _argument(self, word: str) -> str:
        if word == "/mnt/efs/output/digits":
            return f"/mnt/efs/output/{self.name}"
        return str(FOREVER) if word == "60" else word

    async def job(self) -> Object:
        return await self.place.kube.get(JOBS, self.place.name, self.name)

    async def change(self, spec: Object) -> None:
        self.document = await self.place.kube.patch(
            JOBS, self.place.name, self.name, {"spec": spec}
        )

    async def scale(self, replicas: int) -> None:
        """As `kubectl scale` does it."""
        body = {"spec": {"replicas": replicas}}
        await self.place.kube.patch(JOBS, self.place.name, self.name, body, subresource="scale")

    async def end_after(self, epochs: int) -> None:
        """Change the template, as one may while the job is suspended."""
        worker = copy.deepcopy(self.document["spec"]["replicaSpecs"][contract.WORKER])
        container = worker["template"]["spec"]["containers"][0]
        words = container["args"]
        words[words.index("--epochs") + 1] = str(epochs)
        await self.change({"replicaSpecs": {contract.WORKER: worker}, "suspend": False})

    # --- Pods and nodes ---

    async def pods(self) -> dict[str, Object]:
        found, _ = await self.place.kube.list_all(PODS, self.place.name)
        return {pod["metadata"]["name"]: pod for pod in found if self._is_own(pod)}

    async def until_pods(self, holds: Callable[[list[Object]], bool]) -> list[Object]:
        def own(pods: list[Object]) -> list[Object]:
            return [pod for pod in pods if self._is_own(pod)]

        return own(await self._patiently(PODS, lambda pods: holds(own(pods))))

    async def _patiently(self, kind: Kind, holds: Callable[[list[Object]], bool]) -> list[Object]:
        async with asyncio.timeout(HANG_SECONDS):
            while True:
                try:
                    return await until(self.place.kube, kind, self.place.name, holds)
                except TimeoutError:
                    continue  # a loaded machine may need longer than objects alone do

    def _is_own(self, pod: Object) -> bool:
        return bool((pod["metadata"].get("labels") or {}).get(contract.LABEL_JOB) == self.name)

    async def boot(self, count: int) -> list[str]:
        """What an autoscaler would: nodes of the group that the waiting pods select."""
        waiting = await self.until_pods(
            lambda pods: sum(not pod["spec"].get("nodeName") for pod in pods) >= count
        )
        selector = next(pod for pod in waiting if not pod["spec"].get("nodeName"))
        labels = {
            **selector["spec"]["nodeSelector"],
            contract.LABEL_ROLE: contract.ROLE_WORKER,
            contract.LABEL_GPU: "t4",
        }
        taint = {"key": contract.GPU_TAINT_KEY, "value": contract.GPU_TAINT_VALUE}
        names = []
        for _ in range(count):
            name = f"{self.place.name}-{len(self.kubelet.machines)}-{time.monotonic_ns()}"
            await self.kubelet.add(
                NodeSpec(
                    name=name,
                    labels=labels,
                    taints=[{**taint, "effect": contract.GPU_TAINT_EFFECT}],
                    capacity={contract.GPU_RESOURCE: "1"},
                )
            )
            names.append(name)
        return names

    async def drain(self, pod: Object) -> None:
        """As `kubectl drain` does it: cordon the node, then evict its pods."""
        await self.place.kube.patch(
            NODES, "", pod["spec"]["nodeName"], {"spec": {"unschedulable": True}}
        )
        await self.place.evict(pod["metadata"]["name"])

    def log_of(self, pod: Object) -> str:
        metadata = pod["metadata"]
        folder = f"{self.place.name}_{metadata['name']}_{metadata['uid']}"
        files = sorted((self.kubelet.options.folder / "pods" / folder).glob("logs/*/*.log"))
        return "".join(file.read_text(errors="replace") for file in files)

    def agent(self, name: str) -> int:
        """Process of the agent in that pod."""
        return self.kubelet.pids(self.place.name, name)[contract.WORKER_CONTAINER]

    def pod_of_rank(self, rank: int) -> str:
        """Name of the pod in which that rank of the newest world writes its log."""
        log = self.written.log(self.world, rank)
        for name in self._own_names():
            for pid in self.kubelet.pids(self.place.name, name).values():
                if any(str(log.resolve()) in open_files(one) for one in descendants(pid)):
                    return name
        raise AssertionError(f"no pod writes {log.name}")

    def _own_names(self) -> list[str]:
        return [worker_name(self.name, index) for index in range(8)]

    # --- What the ranks write down ---

    @property
    def written(self) -> Written:
        shared = self.kubelet.options.claims[CLAIM]
        return Written(
            samples=shared / "samples" / self.name,
            checkpoints=shared / "output" / self.name / "checkpoints",
            images=self.images,
        )

    @property
    def world(self) -> int:
        return self.written.world

    async def until_trains(self, *, size: int, after: int, told: str) -> int:
        """The number of a world above `after` in which `size` ranks have done some steps."""
        began, written = time.monotonic(), self.written

        def settled() -> bool:
            steps = written.steps(written.world)
            enough = all(count >= SETTLED_STEPS for count in steps.values())
            return written.world > after and len(steps) == size and enough

        await self._look_until(settled, f"a world of {size} after {after}")
        self.tell(f"{told}: world {self.world} of {size} after {time.monotonic() - began:.1f} s")
        return self.world

    async def until_moved(self, steps: int) -> None:
        """Rank 0 has done so many steps more, in whichever world."""
        written = self.written
        start = written.total()
        await self._look_until(lambda: written.total() >= start + steps, f"{steps} steps more")

    async def until_gone(self, pid: int) -> None:
        """The process has ended."""
        await self._look_until(lambda: not is_alive(pid), f"end of process {pid}")

    async def _look_until(self, holds: Callable[[], bool], what: str) -> None:
        """Files tell nobody when they grow, so they have to be looked at."""
        try:
            async with asyncio.timeout(HANG_SECONDS):
                while not holds():
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            raise AssertionError(
                f"no {what} within {HANG_SECONDS:.0f} s: world {self.world} has done "
                f"{self.written.steps(self.world)}; {'; '.join(self.story)}"
            ) from None

    def tell(self, text: str) -> None:
        self.story.append(text)
        print(text)

    async def show(self) -> None:
        """For a test that failed: the end of every pod's log."""
        for name, pod in (await self.pods()).items():
            lines = self.log_of(pod).splitlines()[-15:]
            print(f"--- {name} {pod['status'].get('phase')}", *lines, sep="\n")

    async def until_condition(self, kind: str) -> Object:
        jobs = await self._patiently(JOBS, lambda jobs: any(map(self._has(kind), jobs)))
        return next(filter(self._has(kind), jobs))

    def _has(self, kind: str) -> Callable[[Object], bool]:
        def holds(job: Object) -> bool:
            conditions: list[Any] = (job.get("status") or {}).get("conditions") or []
            is_own = job["metadata"]["name"] == self.name
            return is_own and any(c["type"] == kind and c["status"] == "True" for c in conditions)

        return holds
