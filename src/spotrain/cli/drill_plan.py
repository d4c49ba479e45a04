"""What a drill will do: which worker it takes away, by which requests, and how that is undone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spotrain import contract
from spotrain.cli.drill_calls import Call, Worker, cordon, eviction, removal
from spotrain.cli.errors import CONFLICT, NOT_FOUND, UserError
from spotrain.cli.job_view import JobView
from spotrain.cli.wording import count
from spotrain.controller.status import SUSPENDED
from spotrain.job import ElasticJob
from spotrain.kinds import Object
from spotrain.ledger.entries import WorldEntry
from spotrain.local.interruptions import Manner
from spotrain.next_command import next_command
from spotrain.worlds.questions import choose_size
from spotrain.worlds.state import Limits


@dataclass(frozen=True, kw_only=True)
class Strike:
    """One interruption."""

    manner: Manner
    worker: Worker
    """The one that was chosen."""
    leaving: tuple[Worker, ...]
    """All that it takes away."""
    says: str
    """What it does, for a person: evicts digits-worker-1 from node-2, ..."""
    calls: tuple[Call, ...] = ()
    """To the API server, in this order."""
    undo: tuple[Call, ...] = ()
    """Sent whatever happens, as soon as training goes on."""
    instance: str = ""
    """The machine that the cloud interrupts, in the cloud's words; empty: it does not."""
    asks: str = ""
    """What the cloud is asked for then, for a person."""
    experiment: Mapping[str, Any] = field(default_factory=dict)
    """What is asked of AWS's Fault Injection Service for it."""

    def document(self) -> Object:
        return {
            "kind": str(self.manner),
            "worker": self.worker.index,
            "node": self.worker.node,
            "instance": self.instance or None,
            "experiment": dict(self.experiment) or None,
            "pods": [worker.pod for worker in self.leaving],
            "says": self.says,
            "sends": [call.document() for call in self.calls],
            "undoes": [call.document() for call in self.undo],
        }


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


def steady_world(seen: JobView, *, local: bool = False) -> WorldEntry:
    """The world that trains now, with all workers that the job wants.

    Raises:
        UserError: it does not, so that nobody could tell what an interruption costs.
    """
    if seen.job is None or has_ended(seen):
        raise UserError(
            f"{seen.name} is {seen.state}: only a job that trains can be interrupted. "
            f"{next_command('list', local=local)} shows which do.",
            exit_code=CONFLICT,
        )
    if problem := unsteady(seen):
        raise UserError(
            f"{seen.name} is {seen.state} and {problem}: a drill needs a job that trains with all "
            f"its workers, or it would measure more than its own. {_why(seen.name, local=local)}",
            exit_code=CONFLICT,
        )
    return seen.status.history[-1]


def has_ended(seen: JobView) -> bool:
    """It trains no more, for good or until somebody resumes it."""
    suspended = seen.job is not None and seen.job.suspend
    return seen.status.finished or suspended or seen.status.is_true(SUSPENDED)


def unsteady(seen: JobView) -> str:
    """What keeps the job from training with all workers that it wants; empty: nothing does."""
    wanted, ready = seen.job.replicas if seen.job else 0, seen.status.workers.ready
    if ready < wanted:
        return f"has {ready} of {count(wanted, 'worker')} ready"
    world = seen.status.history[-1] if seen.status.history else None
    if world is None or world.ended_at is not None:
        return "forms a world"
    whole = _whole_size(seen.job) if seen.job else 0
    if world.size < whole:
        return f"trains in a world of {world.size} until it grows to {whole}"
    if world.first_step_at is None:
        return (
            f"has told of no step of world {world.number} yet (a script tells of its steps by "
            "spotrain.train)"
        )
    return ""


def _whole_size(job: ElasticJob) -> int:
    """Of a world when all workers are there; some of them may have to stand by."""
    limits = Limits(
        min_size=job.min_replicas,
        max_size=job.max_replicas,
        desired_size=job.replicas,
        allowed_sizes=tuple(job.elastic.allowed_replicas),
    )
    return choose_size(limits, job.replicas)


def plan_strike(
    manner: Manner, seen: JobView, pods: Sequence[Object], *, index: int | None
) -> Strike:
    """Whom this interruption hits in a cluster. `pods` are all of the namespace.

    Args:
        index: of the worker; None: the one with the highest number.

    Raises:
        UserError: there is no such worker.
    """
    chosen, leaving = aim(manner, seen.name, running_workers(seen.name, pods), index)
    namespace = str(seen.document["metadata"]["namespace"])
    evictions = tuple(eviction(worker, namespace) for worker in leaving)
    undo: tuple[Call, ...] = ()
    match manner:
        case Manner.NOTICE:
            says = f"evicts {names(leaving)} from {chosen.node}, with its grace period as notice"
            calls = evictions
        case Manner.KILL:
            says = f"removes {names(leaving)} on {chosen.node} at once, without notice"
            calls = tuple(removal(worker, namespace) for worker in leaving)
        case Manner.NODE:
            says = f"cordons {chosen.node}, evicts {names(leaving)}, and uncordons it once "
            says += "training goes on"
            calls = (cordon(chosen.node, True), *evictions)
            undo = (cordon(chosen.node, False),)
    return Strike(manner=manner, worker=chosen, leaving=leaving, says=says, calls=calls, undo=undo)


def aim(
    manner: Manner, job: str, workers: Sequence[Worker], index: int | None, *, local: bool = False
) -> tuple[Worker, tuple[Worker, ...]]:
    """The worker of that number, or else the last one, and all that leave with it.

    Raises:
        UserError: there is no such worker.
    """
    chosen = _choose(job, workers, index, local=local)
    if manner is not Manner.NODE:
        return chosen, (chosen,)
    return chosen, on_node(workers, chosen.node)


def on_node(workers: Sequence[Worker], node: str) -> tuple[Worker, ...]:
    return tuple(worker for worker in workers if worker.node == node)


def names(workers: Sequence[Worker]) -> str:
    return ", ".join(worker.pod for worker in workers)


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


def _choose(job: str, workers: Sequence[Worker], index: int | None, *, local: bool) -> Worker:
    if not workers:
        raise UserError(
            f"no worker of {job} runs: there is nobody to interrupt. {_why(job, local=local)}",
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


def _why(job: str, *, local: bool) -> str:
    return f"Next: {next_command('explain', job, local=local)}"
