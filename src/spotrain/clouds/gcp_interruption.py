"""Spot machines taken back on request: by Compute Engine, as it does it itself.

A simulated maintenance event preempts a spot machine, with the notice of a real preemption.
https://cloud.google.com/compute/docs/instances/create-use-spot#test-preemption
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from spotrain.clouds import gcp, gcp_api
from spotrain.clouds.answers import NotInterrupted
from spotrain.clouds.gcp_api import Google, GoogleError
from spotrain.clouds.project import LOG_IN

RIGHTS: Final = "compute.instances.get and compute.instances.simulateMaintenanceEvent"
START_SECONDS: Final = 120.0
"""An operation that has not begun by then has found something in its way."""
LOOKS: Final = (0.5, 8.0)
"""Seconds between the first two looks at it, and the most: each wait is twice the one before."""


@dataclass(frozen=True)
class Instance:
    """A machine of Compute Engine, as its node names it."""

    project: str
    zone: str
    id: str

    @property
    def path(self) -> str:
        return f"compute/v1/projects/{self.project}/zones/{self.zone}/instances/{self.id}"


def instance_of(provider_id: str) -> Instance:
    """By a node's `spec.providerID`, such as gce://my-project/us-central1-a/gke-dev-t4-1a2b-x1y2."""
    found = gcp.instance_of(provider_id)
    if found is None:
        raise NotInterrupted(
            f"the node's provider ID is {provider_id!r}, which names no machine of Compute Engine. "
            "Drill without --real."
        )
    return Instance(*found)


def connect() -> Google:
    with _told():
        return gcp_api.connect()


def require_spot(google: Google, instance: Instance) -> None:
    """Raises NotInterrupted: it does not run, or is not spot."""
    with _told():
        told = google.get("compute", instance.path)
    if (told.get("scheduling") or {}).get("provisioningModel") != "SPOT":
        raise NotInterrupted(
            f"{instance.id} is no spot machine: nobody takes it back. Choose a worker on spot by "
            "--worker."
        )
    if told.get("status") != "RUNNING":
        raise NotInterrupted(f"{instance.id} does not run any more. Next: kubectl get nodes.")


def interrupt(
    google: Google, instance: Instance, *, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Returns when Compute Engine has begun. Nothing holds it back from then on.

    Raises:
        NotInterrupted: nobody is logged in, a right is missing, or the operation failed.
    """
    with _told():
        told = google.post("compute", f"{instance.path}/simulateMaintenanceEvent")
        where = f"compute/v1/projects/{instance.project}/zones/{instance.zone}/operations"
        seconds, waited = LOOKS[0], 0.0
        while told.get("status") == "PENDING" and waited < START_SECONDS:
            sleep(seconds)
            waited += seconds
            seconds = min(2 * seconds, LOOKS[1])
            told = google.get("compute", f"{where}/{told['name']}")
    faults = [each.get("message", "") for each in (told.get("error") or {}).get("errors") or ()]
    if faults or told.get("status") not in ("RUNNING", "DONE"):
        why = gcp_api.line("; ".join(faults)) or f"it is {told.get('status')}"
        raise NotInterrupted(
            f"Compute Engine did not take back {instance.id}: {why.rstrip('.')}. Drill without "
            "--real."
        )


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except GoogleError as error:
        steps = {
            "PERMISSION_DENIED": f"ask for {RIGHTS}",
            "NOT_FOUND": "kubectl get nodes: it may be gone already",
            **dict.fromkeys(("NoCredentials", "UNAUTHENTICATED"), LOG_IN),
        }
        step = steps.get(error.code, "see the message")
        said = str(error).rstrip(".")
        raise NotInterrupted(f"Google Cloud refuses: {said}. Next: {step}.") from error
