"""Spot prices of Compute Engine, by its public list: there is no price for a machine, only for its
parts, and none of yesterday."""

import re
from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from typing import Final

from spotrain import contract
from spotrain.clouds import gcp_api
from spotrain.clouds.gcp_api import Google, GoogleError
from spotrain.clouds.gcp_skus import Machine, Rates, read_rates, usd_per_hour
from spotrain.clouds.prices import RefreshError
from spotrain.clouds.project import LOG_IN
from spotrain.clouds.zones import gcp_region
from spotrain.job import Pool
from spotrain.ledger.prices import Quote

COMPUTE_ENGINE: Final = "v1/services/6F81-5844-456A/skus"
"""In the list of prices of all services."""
IDENTITY: Final = f"{contract.SYSTEM_NAMESPACE}/{contract.PRICES_REFRESHER}"
STEPS: Final = {
    "PERMISSION_DENIED": f"give the service account {IDENTITY} compute.machineTypes.get: pulumi up",
    "SERVICE_DISABLED": "switch the API on in the project: pulumi up",
    "RESOURCE_EXHAUSTED": "the next run asks again",
    "UNAUTHENTICATED": f"check the Workload Identity of {IDENTITY}",
    "NoCredentials": f"check the Workload Identity of {IDENTITY}; outside of a cluster, log in: "
    f"{LOG_IN}",
    "Unreachable": "the next run asks again; if none succeeds, check the way from the pod to "
    "googleapis.com",
    "UNAVAILABLE": "the next run asks again",
}


class Catalogue:
    """Compute Engine's list of prices, fetched when it is first needed."""

    def __init__(self, google: Google) -> None:
        self._google = google

    @cached_property
    def rates(self) -> Rates:
        """Page by page: the list has tens of thousands of entries. Raises GoogleError."""
        pages = self._google.pages(
            "cloudbilling", COMPUTE_ENGINE, "skus", currencyCode="USD", pageSize="5000"
        )
        return {key: usd for page in pages for key, usd in read_rates(page)}


def connect() -> Google:
    """As whoever is logged in, or as this pod. Raises RefreshError: as nobody."""
    try:
        return gcp_api.connect()
    except GoogleError as error:
        raise _refused(error) from error


def spot_quotes(
    google: Google, catalogue: Catalogue, project: str, pool: Pool, *, now: datetime
) -> list[Quote]:
    """The price of each machine type of the pool in each of its zones, as of now.

    A type that a zone does not sell, and one whose parts the list does not name, has none.

    Raises:
        RefreshError: Google refuses, or does not answer.
    """
    try:
        return list(_quotes(google, catalogue, project, pool, now))
    except GoogleError as error:
        raise _refused(error) from error


def _refused(error: GoogleError) -> RefreshError:
    step = STEPS.get(error.code, "see the message")
    return RefreshError(
        f"Google Cloud tells no spot prices: {str(error).rstrip('.')}. Next: {step}."
    )


def machine_of(google: Google, project: str, zone: str, type: str) -> Machine | None:
    """None: the zone does not sell it. Raises GoogleError."""
    path = f"compute/v1/projects/{project}/zones/{zone}/machineTypes/{type}"
    try:
        told = google.get("compute", path)
    except GoogleError as error:
        if error.code == "NOT_FOUND":
            return None
        raise
    return Machine(type=type, vcpus=int(told["guestCpus"]), memory_gib=told["memoryMb"] / 1024)


def instance_of(provider_id: str) -> tuple[str, str, str] | None:
    """Project, zone and name of a node's machine, by its `spec.providerID`; None: it is not of
    Compute Engine."""
    found = re.fullmatch(r"gce://([a-z][a-z0-9:.-]+)/([a-z0-9-]+)/([a-z0-9-]+)", provider_id)
    return (found[1], found[2], found[3]) if found else None


def _quotes(
    google: Google, catalogue: Catalogue, project: str, pool: Pool, now: datetime
) -> Iterator[Quote]:
    for zone in pool.zones:
        region = gcp_region(zone)
        for type in pool.instance_types:
            machine = machine_of(google, project, zone, type) if region else None
            if machine is None or region is None:
                continue
            usd = usd_per_hour(
                machine,
                gpu=pool.gpu,
                gpus=pool.gpus_per_node,
                region=region,
                rates=catalogue.rates,
            )
            if usd is not None:
                yield Quote(instance_type=type, zone=zone, usd_per_hour=usd, since=now)
