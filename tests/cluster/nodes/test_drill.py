"""`spotrain drill` with real workers: what it says is what the job's ledger and its ranks say.

One job of two workers trains on and on; each test leaves it with two workers, but for the last one.
"""

import asyncio
import re
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest
import pytest_asyncio
import yaml

from spotrain import contract
from spotrain.job import worker_name
from spotrain.kinds import CONFIG_MAPS, NODES, Object
from tests.cluster.cluster import REPOSITORY, until
from tests.cluster.command_line import Person
from tests.cluster.conftest import controller_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.nodes.conftest import COORDINATORS, new_place, running_kubelet
from tests.cluster.nodes.training import EXAMPLES, HANG_SECONDS, Training
from tests.cluster.researchers import admit_researchers
from tests.cluster.server import ADMIN_TOKEN, RESEARCHER_TOKEN

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(900),
    pytest.mark.asyncio(loop_scope="module"),
]
SIZE = 2
SPOT_USD = 0.184
"""What a node costs for an hour, by the pools of the examples."""
NO_LIMIT = 1_000_000
DOCUMENTED_NODE = "ip-10-0-12-34.ec2.internal"


@dataclass(frozen=True)
class Scene:
    """A job of two workers that trains, and who may interrupt it."""

    training: Training
    researcher: Person
    administrator: Person

    async def worlds(self) -> dict[int, Object]:
        """Of the job's ledger, by their number."""
        return {
            world["number"]: world for world in (await self.training.job())["status"]["history"]
        }

    async def node_of(self, worker: int) -> str:
        pod = (await self.training.pods())[worker_name(self.training.name, worker)]
        return str(pod["spec"]["nodeName"])

    async def is_cordoned(self, node: str) -> bool:
        found = await self.training.place.kube.get(NODES, "", node)
        return bool(found["spec"].get("unschedulable"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(
    plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Scene]:
    async with AsyncExitStack() as stack:
        kube = plane.server.kube(await stack.enter_async_context(plane.server.client()))
        place = await new_place(plane, kube)
        await admit_researchers(place)
        folder = tmp_path_factory.mktemp("drill")
        kubelet = await stack.enter_async_context(running_kubelet(kube, folder))
        pools = yaml.safe_load((EXAMPLES / "pools.yaml").read_text())
        await kube.apply(CONFIG_MAPS, contract.SYSTEM_NAMESPACE, pools)
        controller = await stack.enter_async_context(controller_for(place))
        controller.address, controller.port = COORDINATORS[0], contract.COORDINATOR_PORT
        await controller.start()
        training = Training(place, kubelet)
        await training.submit(replicas=SIZE, high=SIZE)
        await training.boot(SIZE)
        await training.until_trains(size=SIZE, after=0, told="started")
        people = (
            Person(place.server.kubeconfig(f"{place.name}-{name}", token), place.name, folder)
            for name, token in (("ada", RESEARCHER_TOKEN), ("eve", ADMIN_TOKEN))
        )
        yield Scene(training, *people)
        await training.show()


def transcript(command: str) -> str:
    """What docs/operations.md shows below that command."""
    page = (REPOSITORY / "docs" / "operations.md").read_text()
    _, found, rest = page.partition(command)
    assert found
    return rest.partition("\n")[2].partition("```")[0]


def form_of(text: str, node: str) -> list[str]:
    """Its words, line by line, without what differs from run to run."""
    lines = text.replace(node, "NODE").splitlines()
    words = (" ".join(re.sub(r"\d[\d.,]*", "N", line).split()) for line in lines)
    return sorted(line for line in words if line.strip(" ─"))


async def until_steady(who: Person) -> None:
    """The ranks' own files are ahead of the job's status, which alone a drill can see."""
    async with asyncio.timeout(HANG_SECONDS):
        while (await who.types("drill", "digits", "--dry-run")).code:
            await asyncio.sleep(0.5)


async def test_a_researcher_drains_no_node_and_is_told_who_may(scene: Scene) -> None:
    await until_steady(scene.researcher)
    world = scene.training.world
    refused = await scene.researcher.types("drill", "digits", "--kind", "notice,node")
    assert (refused.code, refused.out) == (3, "")
    assert "Ask an administrator of the cluster" in refused.err
    assert scene.training.world == world


async def test_what_a_drill_shows_is_what_the_ledger_and_the_ranks_say(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    training, written = scene.training, scene.training.written
    first, node = training.world, await scene.node_of(1)
    limits = ("--max-pause", f"{HANG_SECONDS}", "--max-steps-lost", f"{NO_LIMIT}")
    shown = await scene.researcher.types("drill", "digits", "--kind", "notice,kill", *limits)
    training.tell(shown.out)
    assert shown.code == 0, shown
    documented = transcript("$ spotrain drill digits --kind notice,kill")
    assert form_of(shown.err + shown.out, node) == form_of(documented, DOCUMENTED_NODE)

    ledger = await scene.worlds()
    second = next(number for number, world in ledger.items() if world.get("reason") == "loss")
    rows = [line.split() for line in shown.out.splitlines()[2:]]
    for row, worlds in zip(rows, (range(first, second), range(second, max(ledger))), strict=True):
        changes = [ledger[number] for number in worlds]
        assert row[2] == changes[0]["reason"]
        assert row[3] == f"{sum(world.get('pauseSeconds', 0) for world in changes):.2f}"
        assert row[5] == f"{sum(world.get('stepsLost', 0) for world in changes):,}"

    # After a notice no step was done in vain, by what the ranks wrote; after a loss, so many.
    assert ledger[first]["stepsLost"] == 0
    assert (
        written.saved_step(first) == written.last_step(first) == written.first_step(first + 1) - 1
    )
    again = written.first_step(second + 1) - 1
    lost = {step - again for step in written.last_steps(second).values()}
    assert ledger[second]["stepsLost"] in lost
    assert "field is immutable" not in caplog.text  # the killed pod's node has left its heir alone


async def test_a_drill_past_its_limit_fails_and_its_node_is_opened_all_the_same(
    scene: Scene,
) -> None:
    """No change of the world takes no time at all."""
    words = ("--kind", "node", "--worker", "0", "--max-pause", "0", "-o", "json")
    told = await scene.administrator.types("drill", "digits", *words)
    said = told.document
    assert isinstance(said, dict)
    assert (told.code, said["passed"]) == (1, False)
    assert "FAILED. Next: spotrain describe digits" in told.err
    (node,) = said["drills"]
    assert (node["endedBy"], node["stepsLost"]) == ("notice", 0)
    assert len(node["faults"]) == 1
    assert "where 0 s is the limit" in node["faults"][0]
    assert not await scene.is_cordoned(node["node"])
    ledger = await scene.worlds()
    assert node["worlds"] == [ledger[world["number"]] for world in node["worlds"]]
    assert 0 < node["pauseSeconds"] < node["wholeSeconds"]
    cost = SIZE * SPOT_USD / 3600 * node["pauseSeconds"]
    assert node["usdLost"] == pytest.approx(cost)


async def test_ctrl_c_in_the_middle_of_a_drain_opens_the_node_again(scene: Scene) -> None:
    kube = scene.training.place.kube
    process = await scene.administrator.starts("drill", "digits", "--kind", "node")
    async with asyncio.timeout(HANG_SECONDS):
        nodes = await until(kube, NODES, "", lambda nodes: any(map(is_closed, nodes)))
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
    (node,) = [node["metadata"]["name"] for node in nodes if is_closed(node)]
    assert process.returncode == 130, err.decode()
    assert b"Traceback" not in err
    assert not await scene.is_cordoned(node)


def is_closed(node: Object) -> bool:
    return bool(node["spec"].get("unschedulable"))
