"""Would the autoscaler add a node for a job when there is none? The real scheduler is asked.

The autoscaler imagines a node from the tags of a scaling group and lets the scheduler's code say
whether the pod would fit. Here that node is made, and the scheduler itself decides.
"""

import asyncio
import contextlib
import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml

from components.aws.nodes.node_template import NODE_TEMPLATE
from spotrain import contract
from spotrain.controller.kube import Kube
from spotrain.controller.model import CLUSTER_COORDINATOR
from spotrain.controller.pod import build_pod
from spotrain.job import ElasticJob, Offer, Pool, parse_job, parse_pools
from spotrain.kinds import JOBS, NODES, PODS, Object
from spotrain.local.image import Image
from spotrain.local.kubelet import Options
from spotrain.local.kubelet.machine import Machine
from stacks.pages.stacks import aws_stacks, recording_of
from stacks.recorder import Recording
from tests.cluster.cluster import Namespace, until
from tests.cluster.nodes.node_template import Group, groups_of, imagine
from tests.cluster.nodes.training import CLAIM, EXAMPLES

pytestmark = [
    pytest.mark.cluster,
    # pulumi_eks deprecates one of its own classes as it is imported; we use another one.
    pytest.mark.filterwarnings("ignore:NodeGroup uses:DeprecationWarning"),
]
STACKS = ["dev", "prod", "everything"]
"""Those of AWS; the last one has every option on."""
TRIAL = "tests.invalid/trial"
"""By which a pod is too big; the tags say their values in these units."""
UNITS = {"cpu": "m", "memory": "Mi", "ephemeral-storage": "Gi"}


@dataclass(frozen=True)
class Trial:
    """One pod before one node. `admitted`: what the scheduler is to say."""

    name: str
    group: Group
    pod: Object
    admitted: bool
    why: str


@dataclass(frozen=True)
class Pods:
    """What a job asks for, of exactly as much as a group's tags promise."""

    job: ElasticJob
    pools: dict[str, Pool]

    def worker(self, group: Group) -> Object:
        """It fills the node, and names every label by which the platform's nodes differ."""
        offer = Offer(self.pools[group.pool], group.zone)
        pod = build_pod(self.job, 0, offer, CLUSTER_COORDINATOR)
        pod["spec"]["nodeSelector"] |= group.told("label")
        resources = group.told("resources")
        pod["spec"]["containers"][0]["resources"] = {"requests": resources, "limits": resources}
        return pod

    def too_big(self, group: Group, resource: str) -> Object:
        """By the least that the resource is counted in."""
        pod = self.worker(group)
        unit = UNITS[resource]
        promised = int(group.told("resources")[resource].removesuffix(unit))
        wanted = {**group.told("resources"), resource: f"{promised + 1}{unit}"}
        pod["spec"]["containers"][0]["resources"] = {"requests": wanted, "limits": wanted}
        return pod

    def stranger(self, group: Group) -> Object:
        """A pod of anybody's, without need of a GPU."""
        pod = self.worker(group)
        pod["spec"] |= {"tolerations": [], "nodeSelector": {}}
        pod["spec"]["containers"][0]["resources"] = {}
        return pod

    def with_all_tags(self, name: str, group: Group) -> list[Trial]:
        refused = {f"too much {r}": self.too_big(group, r) for r in UNITS}
        refused["no toleration"] = self.stranger(group)
        return [
            Trial(f"{name}-fits", group, self.worker(group), True, "it was made for this pool"),
            *(
                Trial(f"{name}-refused-{number}", group, pod, False, why)
                for number, (why, pod) in enumerate(refused.items())
            ),
        ]

    def without(self, name: str, group: Group, tag: str) -> Trial:
        """What goes wrong where one tag is missing."""
        tags = {key: value for key, value in group.tags.items() if key != tag}
        blind = replace(group, tags=tags)
        kind, _, key = tag.removeprefix(f"{NODE_TEMPLATE}/").partition("/")
        if kind == "taint":
            why = "a node would be added for a pod that must not run there"
            return Trial(name, blind, self.stranger(group), True, why)
        if kind == "resources" and key in ("cpu", "memory"):
            why = "a node would be added on which the pod never fits"
            return Trial(name, blind, self.too_big(group, key), True, why)
        if key == contract.GPU_RESOURCE and kind == "resources":
            why = "the autoscaler knows the GPUs of a type by itself; the tag is for newer types"
            return Trial(name, blind, self.worker(group), True, why)
        return Trial(name, blind, self.worker(group), False, "no node would ever be added")


@pytest.fixture
async def job(place: Namespace) -> ElasticJob:
    document = yaml.safe_load((EXAMPLES / "digits.yaml").read_text())
    document["metadata"] = {"name": "digits", "namespace": place.name}
    await place.claim(CLAIM)
    return parse_job(await place.kube.create(JOBS, place.name, document))


@pytest.fixture
def recording(stack: str) -> Recording:
    """What the program registers; made outside of the test's event loop, for it has its own."""
    return recording_of(stack)


def pods_for(job: ElasticJob, recording: Recording) -> tuple[Pods, list[Group]]:
    (config,) = [r for r in recording.resources if r.name == "elastic-jobs-pools"]
    pools = parse_pools(config.inputs["data"][contract.POOLS_KEY])
    return Pods(job, {pool.name: pool for pool in pools}), groups_of(recording)


async def answers(place: Namespace, trials: list[Trial], folder: Path) -> dict[str, bool]:
    """Which pods the scheduler has given their node. Every trial has a node of its own."""
    async with paper_nodes(place.kube, place.name, trials, folder):
        for trial in trials:
            await place.kube.create(PODS, place.name, _posed(place.name, trial))

        def decided(pods: list[Object]) -> bool:
            """A pod that was refused before its node was known is asked for again."""
            found = _answers(pods)
            return None not in found.values() and all(
                found.get(trial.name) for trial in trials if trial.admitted
            )

        with contextlib.suppress(TimeoutError):  # what was refused then is shown
            await until(place.kube, PODS, place.name, decided)
        pods, _ = await place.kube.list_all(PODS, place.name)
    return {name: answer is True for name, answer in _answers(pods).items()}


def _answers(pods: list[Object]) -> dict[str, bool | None]:
    return {pod["metadata"]["name"]: _answer(pod) for pod in pods}


def _posed(place: str, trial: Trial) -> Object:
    pod = copy.deepcopy(trial.pod)
    pod["metadata"]["name"] = trial.name
    pod["spec"]["nodeSelector"] |= {TRIAL: f"{place}-{trial.name}"}
    return pod


def _answer(pod: Object) -> bool | None:
    """The scheduler's; None: none yet."""
    for condition in pod["status"].get("conditions") or []:
        if condition["type"] == "PodScheduled":
            return bool(condition["status"] == "True")
    return None


@asynccontextmanager
async def paper_nodes(
    kube: Kube, place: str, trials: list[Trial], folder: Path
) -> AsyncIterator[None]:
    """Nodes that are ready and run nothing, until the context is left."""
    options = Options(folder=folder, image=Image(workdir=folder), heartbeat_seconds=3.0)
    specs = [
        imagine(trial.group, f"{place}-{trial.name}", **{TRIAL: f"{place}-{trial.name}"})
        for trial in trials
    ]
    machines = [Machine(spec, kube=kube, options=options) for spec in specs]
    try:
        await asyncio.gather(*(machine.join() for machine in machines))
        await until(kube, NODES, "", lambda nodes: not any(map(_is_new, nodes)))
        yield
    finally:
        await asyncio.gather(*(machine.leave() for machine in machines))


def _is_new(node: Object) -> bool:
    """Every node is born with this taint, which the node controller takes off."""
    taints = node["spec"].get("taints") or []
    return any(taint["key"] == "node.kubernetes.io/not-ready" for taint in taints)


@pytest.mark.parametrize("stack", STACKS)
async def test_a_job_finds_a_node_in_every_pool_that_has_none(
    recording: Recording, job: ElasticJob, place: Namespace, tmp_path: Path
) -> None:
    pods, groups = pods_for(job, recording)
    trials = [trial for g in groups for trial in pods.with_all_tags(g.pool, g)]
    found = await answers(place, trials, tmp_path)
    assert {t.name: (found[t.name], t.why) for t in trials} == {
        t.name: (t.admitted, t.why) for t in trials
    }


def test_every_stack_of_aws_is_looked_at() -> None:
    assert list(aws_stacks()) == STACKS


@pytest.mark.parametrize(("stack", "pool"), [("dev", "t4-spot"), ("everything", "a100")])
async def test_every_tag_of_a_scaling_group_is_needed(
    recording: Recording, pool: str, job: ElasticJob, place: Namespace, tmp_path: Path
) -> None:
    pods, groups = pods_for(job, recording)
    (group,) = [group for group in groups if group.pool == pool]
    tags = [tag for tag in group.tags if tag.startswith(NODE_TEMPLATE)]
    trials = [pods.without(f"tag-{number}", group, tag) for number, tag in enumerate(tags)]
    found = await answers(place, trials, tmp_path)
    told = {tag: (found[trial.name], trial.why) for tag, trial in zip(tags, trials, strict=True)}
    assert told == {
        tag: (trial.admitted, trial.why) for tag, trial in zip(tags, trials, strict=True)
    }
