"""Prices of everything but GPUs: the reader of services.yaml."""

from functools import cache, partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from stacks.gcp.machines import machine_catalog
from stacks.regional_prices import managers_scaled, scaled
from stacks.tables import Table, read_table

FILE = Path(__file__).with_name("services.yaml")
Usd = Annotated[float, Field(gt=0)]


class HourlyPrices(Table):
    gke_cluster: Usd
    nat_node: Usd
    nat_address: Usd


class MonthlyPrices(Table):
    kms_key: Usd
    pd_balanced_gb: Usd


class GigabytePrices(Table):
    nat_traffic: Usd
    filestore_basic_hdd_month: Usd
    filestore_basic_ssd_month: Usd
    filestore_zonal_month: Usd
    filestore_regional_month: Usd
    bucket_month: Usd
    logs_ingest: Usd
    registry_month: Usd


class ManagerType(Table):
    vcpu: int
    memory_gib: int
    usd_per_hour: Usd


class ServiceCatalog(Table):
    """Google's list prices of us-central1, in dollars."""

    as_of: str
    source: str
    usd_per_hour: HourlyPrices
    usd_per_month: MonthlyPrices
    usd_per_gb: GigabytePrices
    managers: dict[str, ManagerType]


SAME_EVERYWHERE = {"gke_cluster", "nat_node", "nat_address", "nat_traffic", "kms_key"}
"""Prices that do not differ between regions, nor much from what is listed."""


@cache
def service_catalog() -> ServiceCatalog:
    """The checked-in table."""
    return read_table(FILE, ServiceCatalog)


@cache
def service_prices(region: str) -> ServiceCatalog:
    """The table in a region of gpus.yaml: by the factor of its machines, as nobody lists more."""
    here, factor = service_catalog(), machine_catalog().regions[region].factor
    at = partial(scaled, same_everywhere=SAME_EVERYWHERE)
    return here.model_copy(
        update={
            "usd_per_month": at(here.usd_per_month, factor),
            "usd_per_gb": at(here.usd_per_gb, factor),
            "managers": managers_scaled(here.managers, factor),
        }
    )
