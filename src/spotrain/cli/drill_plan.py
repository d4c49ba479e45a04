"""What a drill will do: which worker it takes away, by which requests, and how that is undone."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from spotrain import contract
from spotrain.cli.drill_calls import Call, Worker, cordon, eviction, removal
from spotrain.cli.errors import CONFLICT, NOT_FOUND, UserError
from spotrain.cli.job_view import JobView
from spotrain.cli.wording import count
from spotrain.kinds import Object
from spotrain.ledger.entries import WorldEntry


class Manner(StrEnum):
    """How a worker is taken away."""

    NOTICE = "notice"
    """Its pod is evicted: SIGTERM, and the whole grace period to save and leave."""
    KILL = "kill"
    """Its pod is removed at once: nobody waits for it, and no word of its own counts any more."""
    NODE = "node"
    """Its node is drained: cordoned, and every worker of the job on it evicted."""


@dataclass(frozen=True, kw_only=True)
class Strike:
    """One interruption."""

    manner: Manner
    worker: Worker
    """The one that was chosen."""
    leaving: tuple[Worker, ...]
    """All that it takes away."""
    calls: tuple[Call, ...]
    undo: tuple[Call, ...] = ()
    """Sent whatever happens, as soon as training goes on."""
    instance: str = ""
    """ARN of the instance that AWS interrupts; empty: requests to the API server do it all."""

    @property
    def said(self) -> str:
        pods = ", ".join(worker.pod for worker in self.leaving)
        node = self.worker.node
        if self.instance:
            instance = self.instance.rpartition("/")[2]
            return f"lets AWS take back {instance} under {node}, and {pods} with it"
        match self.manner:
            case Manner.NOTICE:
                return f"evicts {pods} from {node}, with its grace period as notice"
            case Manner.KILL:
                return f"removes {pods} on {node} at once, without notice"
        return f"cordons {node}, evicts {pods}, and uncordons it once training goes on"

    def document(self) -> Object:
        return {
            "kind": str(self.manner),
            "worker": self.worker.index,
            "node": self.worker.node,
            "instance": self.instance or None,
            "pods": [worker.pod for worker in self.leaving],
            "says": self.said,
            "sends": [call.document() for call in self.calls],
            "undoes": [call.document() for call in self.undo],
        }


NEXT: Final = "Next: spotrain explain"


def parse_manners(text: str) -> tuple[Manner, ...]:
    """The kinds of `--kind`, in the order in which they come. Raises UserError."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    known = ", ".join(Manner)
    unknown = [word for word in words if word not in set(Manner)]
    if unknown or not words:
        raise UserError(
            f"--kind {text or repr(text)}: {unknown[0] if unknown else 'it'} is no kind of "
            f"interruption; give one or more of {known}, separated by commas."
        )
    return tuple(Manner(word) for word in words)


def steady_world(seen: JobView) -> WorldEntry:
    """The world that trains now, with all workers that the job wants.

    Raises:
        UserError: it does not, so that nobody could tell what an interruption costs.
    """
    if seen.job is None or seen.status.finished or seen.job.suspend:
        raise UserError(
            f"{seen.name} is {seen.state}: only a job that trains can be interrupted.",
            exit_code=CONFLICT,
        )
    if problem := unsteady(seen):
        raise UserError(
            f"{seen.name} is {seen.state} and {problem}: a drill needs a job that trains with all "
            f"its workers, or it would measure more than its own. {NEXT} {seen.name}",
            exit_code=CONFLICT,
        )
    return seen.status.history[-1]


def unsteady(seen: JobView) -> str:
    """What keeps the job from training with all workers that it wants; empty: nothing does."""
    wanted, ready = seen.job.replicas if seen.job else 0, seen.status.workers.ready
    if ready < wanted:
        return f"has {ready} of {count(wanted, 'worker')} ready"
    world = seen.status.history[-1] if seen.status.history else None
    if world is None or world.ended_at is not None:
        return "forms a world"
    if world.first_step_at is None:
        return (
            f"has told of no step of world {world.number} yet (a script tells of its steps by "
            "spotrain.train)"
        )
    return ""


def plan_strike(
    manner: Manner, seen: JobView, pods: Sequence[Object], *, index: int | None
) -> Strike:
    """Whom this interruption hits. `pods` are all of the namespace.

    Args:
        index: of the worker; None: the one with the highest number.

    Raises:
        UserError: there is no such worker.
    """
    workers = running_workers(seen.name, pods)
    chosen = choose(seen.name, workers, index)
    namespace = str(seen.document["metadata"]["namespace"])
    if manner is Manner.KILL:
        calls = (removal(chosen, namespace),)
        return Strike(manner=manner, worker=chosen, leaving=(chosen,), calls=calls)
    if manner is Manner.NOTICE:
        calls = (eviction(chosen, namespace),)
        return Strike(manner=manner, worker=chosen, leaving=(chosen,), calls=calls)
    leaving = tuple(worker for worker in workers if worker.node == chosen.node)
    evictions = tuple(eviction(worker, namespace) for worker in leaving)
    return Strike(
        manner=manner,
        worker=chosen,
        leaving=leaving,
        calls=(cordon(chosen.node, True), *evictions),
        undo=(cordon(chosen.node, False),),
    )


def running_workers(job: str, pods: Sequence[Object]) -> list[Worker]:
    """By their number."""
    found = []
    for pod in pods:
        metadata, labels = pod["metadata"], pod["metadata"].get("labels") or {}
        is_own = labels.get(contract.LABEL_JOB) == job
        runs = (pod.get("status") or {}).get("phase") == "Running"
        index = labels.get(contract.LABEL_REPLICA_INDEX, "")
        if is_own and runs and index.isdecimal() and not metadata.get("deletionTimestamp"):
            node = pod["spec"].get("nodeName", "")
            found.append(
                Worker(index=int(index), pod=metadata["name"], uid=metadata["uid"], node=node)
            )
    return sorted(found, key=lambda worker: worker.index)


def choose(job: str, workers: Sequence[Worker], index: int | None) -> Worker:
    if not workers:
        raise UserError(
            f"no worker of {job} runs: there is nobody to interrupt. {NEXT} {job}",
            exit_code=CONFLICT,
        )
    if index is None:
        return workers[-1]
    for worker in workers:
        if worker.index == index:
            return worker
    there = ", ".join(str(worker.index) for worker in workers)
    raise UserError(
        f"--worker {index}: no such worker of {job} runs; there are {there}.", exit_code=NOT_FOUND
    )
