"""Workers that fail by themselves: how often, with what, and when they are tried again."""

from collections.abc import Iterator
from datetime import datetime
from itertools import takewhile
from typing import Final

from spotrain.controller.disruption import NODE_REASONS, OUT_OF_MEMORY, is_disrupted
from spotrain.controller.failure import limit
from spotrain.controller.model import PodView
from spotrain.controller.status import RESTARTING
from spotrain.explain.cause import RECENT, Cause, Gravity, clock, ended
from spotrain.explain.situation import Case
from spotrain.job import limit_of, worker_container
from spotrain.worlds import Reason

CODES: Final = {
    126: "its command is no program",
    127: "its command was not found in the image",
    132: "it used an instruction that this processor lacks",
    134: "it aborted",
    137: "it was killed",
    139: "it broke in native code (segmentation fault)",
}
"""What exit codes mean that a shell or a signal gives."""
SCRIPT_FAILS: Final = "ScriptFails"
LONGEST: Final = 200


def find_failures(case: Case) -> Iterator[Cause]:
    failed = [pod for pod in case.pods if _has_failed(case, pod)]
    starved = [pod for pod in failed if pod.reason == OUT_OF_MEMORY]
    if starved:
        yield _out_of_memory(case, starved[0])
    others = [pod for pod in failed if pod.reason != OUT_OF_MEMORY]
    if case.status.finished:
        return  # the verdict quotes the others
    restarting = case.condition(RESTARTING)
    if restarting.status == "True" and restarting.reason == "BackingOff" and failed:
        yield _crash_loop(case, (others or failed)[0], restarting.message)
    elif case.job and case.status.restarts.failures > limit(case.job) and failed:
        yield Cause(
            reason="WorkerGivenUp",
            gravity=Gravity.NOTED,
            said=f"{failed[0].name} has failed once more than the {limit(case.job)} times that are "
            f"forgiven, and is not replaced: {_ending(failed[0])} The others train on.",
            command=case.logs("--worker", failed[0].index),
        )


def find_script_failures(case: Case) -> Iterator[Cause]:
    """A script that ends by itself is started again where it is: its pods run on meanwhile."""
    over = [world for world in case.status.history if world.ended_at is not None]
    failed = list(takewhile(lambda world: world.reason == Reason.FAILURE, reversed(over)))
    at = failed[0].ended_at if failed else None
    if case.job is None or not case.trains or at is None or case.now - at > RECENT:
        return
    last, present = failed[0], case.status.history[-1]
    times = "" if len(failed) == 1 else f" {len(failed)} times in a row"
    why = f": {ended(last.message)}" if last.message else "."
    used, forgiven = case.status.restarts.in_place, limit(case.job)
    goes_on = present.ended_at is None and present.first_step_at is not None
    now = " It has done steps since." if goes_on else " It has done no step since."
    yield Cause(
        reason="ScriptFailed" if goes_on else SCRIPT_FAILS,
        gravity=Gravity.NOTED if goes_on else Gravity.WAITING,
        said=f"Its script has failed{times}, last at {clock(at)}{why}{now} "
        f"{used} of the {forgiven} failures that are forgiven are used up.",
        command=case.logs(),
    )


def find_full_disks(case: Case) -> Iterator[Cause]:
    """Evictions for what the pod itself has used up come back with its replacement."""
    evicted = [pod for pod in case.pods if pod.reason == "Evicted" and "ephemeral" in pod.message]
    event = case.told("Evicted")
    told = evicted[0].message if evicted else event.message if event else ""
    if "ephemeral" in told.lower() and not case.status.finished:
        yield Cause(
            reason="DiskUsedUp",
            gravity=case.blocked,
            said=f"Its node put a worker out: {ended(told)} Write large files to the shared volume "
            "or an emptyDir of known size, not into the container.",
            command=case.correction,
        )


def last_line(message: str) -> str:
    """Where a traceback says what happened."""
    lines = [line.strip() for line in message.strip().splitlines() if line.strip()]
    return lines[-1][:LONGEST] if lines else ""


def _has_failed(case: Case, pod: PodView) -> bool:
    if pod.phase != "Failed" or pod.deleting or pod.reason in NODE_REASONS:
        return False
    return case.job is None or not is_disrupted(case.job, pod)


def _ending(pod: PodView) -> str:
    """A failed pod in one sentence: its code, what that means, and its last words."""
    code = pod.exit_code
    how = "without an exit code" if code is None else f"with exit code {code}"
    meaning = f" ({CODES[code]})" if code in CODES else ""
    said = last_line(pod.message)
    return f"it ended {how}{meaning}" + (f": {ended(said)}" if said else "; its log may say why.")


def _crash_loop(case: Case, pod: PodView, told: str) -> Cause:
    total, mark = case.status.restarts.failures, case.status.last_failure
    forgiven = limit(case.job) if case.job else 0
    at = f" (last at {clock(mark.at)})" if mark else ""
    _, found, again = told.rpartition("next try at ")
    retry = f" It is tried again at {_moment(again.removesuffix('.'))}." if found else ""
    times = "once" if total == 1 else f"{total} times"
    return Cause(
        reason="CrashLoop",
        gravity=case.blocked,
        said=f"Its training has failed {times}{at}; {forgiven} failures are forgiven. {pod.name}: "
        f"{_ending(pod)}{retry}",
        command=case.logs("--worker", pod.index),
    )


def _moment(told: str) -> str:
    """As a controller of another version may not tell it."""
    try:
        return clock(datetime.fromisoformat(told))
    except ValueError:
        return told


def _out_of_memory(case: Case, pod: PodView) -> Cause:
    memory = None
    if case.job:
        template = case.job.template
        container = template["spec"]["containers"][worker_container(template)]
        memory = limit_of(container, "memory")
    most = f" of {memory}" if memory else ""
    return Cause(
        reason="OutOfMemory",
        gravity=Gravity.BLOCKED if not case.trains else Gravity.NOTED,
        said=f"{pod.name} used more memory than its limit{most} and was killed; the next try needs "
        "as much. Raise the limit (/dev/shm counts in it), or use fewer data loader workers.",
        command=case.correction,
    )
