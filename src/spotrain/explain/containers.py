"""Workers whose container cannot be made or started."""

from collections.abc import Iterator
from typing import Final

from spotrain.explain.absent import find_absent
from spotrain.explain.cause import Cause, ended
from spotrain.explain.situation import Case

CONFIG_FAULTS: Final = ("CreateContainerConfigError",)
START_FAULTS: Final = ("CreateContainerError", "RunContainerError")


def find_unstarted_containers(case: Case) -> Iterator[Cause]:
    for pod in case.housed:
        if pod.waits_for in CONFIG_FAULTS:
            message = case.waiting(pod)
            yield find_absent(case, message) or Cause(
                reason="ContainerConfig",
                gravity=case.blocked,
                said=f"{pod.name} cannot be configured: {ended(message)} Correct the template.",
                command=case.kubectl(f"describe pod {pod.name}"),
            )
            return
        if pod.waits_for in START_FAULTS:
            yield Cause(
                reason="CommandNotStarted",
                gravity=case.blocked,
                said=f"The container of {pod.name} cannot be started: "
                f"{ended(case.waiting(pod))} Correct the template's command, or the "
                "image.",
                command=case.correction,
            )
            return
        sandbox = case.told_of(pod, "FailedCreatePodSandBox")
        if sandbox and not pod.waits_for.startswith("Pod"):
            full = "assign an IP address" in sandbox.message
            yield Cause(
                reason="NoPodAddress" if full else "NoPodNetwork",
                gravity=case.blocked,
                said=f"{pod.name} gets no network: {ended(sandbox.message)} "
                + ("The subnet has no address left." if full else "The node's network has failed."),
                command="spotrain doctor" if full else f"kubectl describe node {pod.node}",
            )
            return
