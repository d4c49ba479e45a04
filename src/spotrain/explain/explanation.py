"""`explain`: all that makes a job what it is, the gravest first, in one paragraph."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from spotrain.controller.replicas import least
from spotrain.controller.status import SUSPENDED
from spotrain.counts import ready_of
from spotrain.explain import (
    capacity,
    containers,
    crashes,
    ends,
    images,
    nodes,
    platform,
    refusals,
    training,
    volumes,
)
from spotrain.explain.cause import Cause, Gravity
from spotrain.explain.situation import Case, Situation, read

Find = Callable[[Case], Iterator[Cause]]
OF_ANY: Final[tuple[Find, ...]] = (ends.find_end, crashes.find_failures)
OF_LIVING: Final[tuple[Find, ...]] = (
    platform.find_absent_controller,
    platform.find_absent_process,
    ends.find_suspension,
)
OF_WANTING: Final[tuple[Find, ...]] = (
    refusals.find_invalid_spec,
    refusals.find_no_offer,
    refusals.find_refused_pods,
    refusals.find_turn,
    volumes.find_missing_claims,
    images.find_unpulled_images,
    volumes.find_unmounted_volumes,
    containers.find_unstarted_containers,
    crashes.find_full_disks,
    crashes.find_script_failures,
    training.find_below_min,
    training.find_hang,
    capacity.find_missing_nodes,
    nodes.find_coming_nodes,
    training.find_silence,
    training.find_losses,
    training.find_spares,
)
"""Each looks at the whole for one kind of cause, and knows of no other."""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    job: str
    paragraph: str
    causes: tuple[Cause, ...]
    """The gravest first."""
    next_command: str
    unseen: dict[str, str] = field(default_factory=dict)
    """What could not be read -> why; a cause that lies there was not found."""


def explain(situation: Situation) -> Explanation:
    """Derived from the objects alone: the same ones get the same explanation."""
    name = situation.job.get("metadata", {}).get("name", "the job")
    causes = list(platform.find_missing_platform(situation))
    opening = ""
    if not causes:
        causes = list(_being_deleted(situation))
    if not causes:
        case = read(situation)
        causes = list(_find(case))
        opening = _opening(case, causes)
    causes.sort(key=lambda cause: cause.gravity)
    sentences = [opening, *(cause.said for cause in causes), _blind_spot(situation)]
    return Explanation(
        job=name,
        paragraph=" ".join(sentence for sentence in sentences if sentence),
        causes=tuple(causes),
        next_command=causes[0].command,
        unseen=dict(situation.unseen),
    )


def _find(case: Case) -> Iterator[Cause]:
    found = [cause for find in OF_ANY for cause in find(case)]
    if not case.status.finished:
        found += [cause for find in OF_LIVING for cause in find(case)]
        if not _is_stopped(case):
            found += [cause for find in OF_WANTING for cause in find(case)]
    yield from found
    if not found or (case.trains and all(cause.gravity is Gravity.NOTED for cause in found)):
        yield from training.find_state(case)


def _is_stopped(case: Case) -> bool:
    """By its spec, or by the controller."""
    return case.status.is_true(SUSPENDED) or (case.job is not None and case.job.suspend)


def _being_deleted(situation: Situation) -> Iterator[Cause]:
    metadata = situation.job.get("metadata", {})
    if metadata.get("deletionTimestamp"):
        holders = ", ".join(metadata.get("finalizers") or ())
        held = f" It is held by {holders}." if holders else ""
        yield Cause(
            reason="BeingDeleted",
            gravity=Gravity.FINAL,
            said=f"{metadata['name']} is being deleted; its workers save and leave.{held}",
            command="spotrain list",
        )


def _opening(case: Case, causes: Iterable[Cause]) -> str:
    job, workers = case.job, case.status.workers
    if job is None or case.status.finished or _is_stopped(case):
        return f"{case.name}:"
    fails = any(cause.reason == crashes.SCRIPT_FAILS for cause in causes)
    does = "keeps failing" if fails else "trains" if case.trains else "waits"
    return (
        f"{case.name} {does}: {ready_of(workers.ready, job.replicas)} ready, "
        f"{least(job, case.pods)} needed."
    )


def _blind_spot(situation: Situation) -> str:
    if not situation.unseen:
        return ""
    return f"Not looked at, as you may not read it: {', '.join(sorted(situation.unseen))}."
