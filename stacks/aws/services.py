"""Prices of everything but GPUs: the reader of services.yaml."""

from functools import cache, partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from stacks.aws.instances import gpu_catalog
from stacks.regional_prices import managers_scaled, scaled
from stacks.tables import Table, read_table

FILE = Path(__file__).with_name("services.yaml")
Price = Annotated[float, Field(gt=0)]


class HourlyPrices(Table):
    eks_cluster: Price
    nat_gateway: Price
    public_ipv4: Price
    interface_endpoint: Price


class MonthlyPrices(Table):
    kms_key: Price
    gp3_gb: Price
    gp3_mib_per_second: Price


class GigabytePrices(Table):
    nat_traffic: Price
    endpoint_traffic: Price
    efs_standard_month: Price
    efs_elastic_read: Price
    efs_elastic_write: Price
    efs_backup_month: Price
    s3_month: Price
    logs_ingest: Price
    logs_month: Price
    ecr_month: Price


class RequestPrices(Table):
    s3_get: Price
    s3_put: Price


class ManagerType(Table):
    vcpu: int
    memory_gib: int
    max_pods: int
    usd_per_hour: Price


class ServiceCatalog(Table):
    """AWS list prices of us-east-1, in dollars."""

    as_of: str
    source: str
    usd_per_hour: HourlyPrices
    usd_per_month: MonthlyPrices
    usd_per_gb: GigabytePrices
    usd_per_thousand: RequestPrices
    managers: dict[str, ManagerType]


SAME_EVERYWHERE = {"eks_cluster", "public_ipv4", "kms_key", "ecr_month"}
"""Prices that do not differ between regions."""


@cache
def service_catalog() -> ServiceCatalog:
    """The checked-in table."""
    return read_table(FILE, ServiceCatalog)


@cache
def service_prices(region: str) -> ServiceCatalog:
    """The table in a region of gpus.yaml: by the factor of its instances, as nobody lists more."""
    here, factor = service_catalog(), gpu_catalog().region_factors[region]
    at = partial(scaled, same_everywhere=SAME_EVERYWHERE)
    return here.model_copy(
        update={
            "usd_per_hour": at(here.usd_per_hour, factor),
            "usd_per_month": at(here.usd_per_month, factor),
            "usd_per_gb": at(here.usd_per_gb, factor),
            "usd_per_thousand": at(here.usd_per_thousand, factor),
            "managers": managers_scaled(here.managers, factor),
        }
    )
