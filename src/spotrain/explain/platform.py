"""Whether there is anybody who takes care of jobs."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from spotrain import contract
from spotrain.controller.reconcile import OURS
from spotrain.controller.status import NO_PROCESS, RUNNING
from spotrain.explain.cause import Cause, Gravity, clock
from spotrain.explain.situation import MISSING, Case, Situation

TAKEN_UP_SECONDS: Final = 30
"""A job that the controller has not looked at by then is not looked at."""
CONTROLLER: Final = (
    f"kubectl -n {contract.SYSTEM_NAMESPACE} describe deployment {contract.CONTROLLER_NAME}"
)


def find_missing_platform(situation: Situation) -> Iterator[Cause]:
    """Asked before anything else is read: without its definition there is no job to read."""
    if situation.definition is MISSING:
        yield Cause(
            reason="NotInstalled",
            gravity=Gravity.BLOCKED,
            said=f"The platform is not installed in this cluster: it does not know the kind "
            f"{contract.KIND} ({contract.PLURAL}.{contract.GROUP}). Is it the right cluster?",
            command="kubectl config get-contexts",
        )


def find_absent_process(case: Case) -> Iterator[Cause]:
    """On one machine a job has a process of its own, which may have been killed."""
    if case.condition(RUNNING).reason == NO_PROCESS:
        yield Cause(
            reason=NO_PROCESS,
            gravity=Gravity.BLOCKED,
            said="No process runs it: it was interrupted, or this machine was switched off. It "
            "goes on from its last checkpoint when it is resumed.",
            command=f"spotrain resume {case.name}",
        )


def find_absent_controller(case: Case) -> Iterator[Cause]:
    manager = case.job.managed_by if case.job else ""
    if manager not in OURS:
        yield Cause(
            reason="ManagedElsewhere",
            gravity=Gravity.BLOCKED,
            said=f"spec.managedBy hands it to {manager}: this platform's controller does not touch "
            "it. Submit it without managedBy, or ask who runs that one.",
            command=case.kubectl(f"get elasticjob {case.name} -o yaml"),
        )
        return
    watched = _watched_namespace(case)
    if watched and watched != case.namespace:
        yield Cause(
            reason="NamespaceNotWatched",
            gravity=Gravity.BLOCKED,
            said=f"Jobs run in the namespace {watched} only; this one is in {case.namespace}, at "
            "which nobody looks. Submit it there.",
            command=f"spotrain list --namespace {watched}",
        )
        return
    if not _controller_is_away(case):
        if not case.status.conditions and case.now - case.seen.since > timedelta(
            seconds=TAKEN_UP_SECONDS
        ):
            yield Cause(
                reason="NotTakenUp",
                gravity=Gravity.BLOCKED,
                said="The controller has not looked at it since it was made at "
                f"{clock(case.seen.since)}. Its log says why, to an administrator.",
                command=CONTROLLER,
            )
        return
    if case.status.world and case.trains:
        yield Cause(
            reason="CoordinatorAway",
            gravity=Gravity.NOTED,
            said="Controller and coordinator do not run. Training goes on without them, but no "
            "checkpoint is committed, no world changes, and no lost worker is replaced until they "
            "are back.",
            command=CONTROLLER,
        )
    else:
        yield Cause(
            reason="ControllerNotRunning",
            gravity=Gravity.BLOCKED,
            said="The platform's controller does not run, so nobody takes care of any job. An "
            "administrator must bring it back; the job then starts by itself.",
            command=CONTROLLER,
        )


def _controller_is_away(case: Case) -> bool:
    deployment = case.raw.controller
    if deployment is None:
        return False
    return not (deployment.get("status") or {}).get("readyReplicas")


def _watched_namespace(case: Case) -> str:
    """The controller's setting; empty: it looks everywhere, or nobody knows."""
    pod = ((case.raw.controller or {}).get("spec") or {}).get("template") or {}
    for container in (pod.get("spec") or {}).get("containers") or ():
        for variable in container.get("env") or ():
            if variable["name"] == contract.ENV_JOB_NAMESPACE:
                return str(variable.get("value") or "")
    return ""
