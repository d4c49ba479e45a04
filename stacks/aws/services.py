"""Prices of everything but GPUs: the reader of services.yaml."""

from functools import cache
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field

Price = Annotated[float, Field(gt=0)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class HourlyPrices(_Table):
    eks_cluster: Price
    nat_gateway: Price
    public_ipv4: Price
    interface_endpoint: Price


class MonthlyPrices(_Table):
    kms_key: Price
    gp3_gb: Price
    gp3_mib_per_second: Price


class GigabytePrices(_Table):
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


class RequestPrices(_Table):
    s3_get: Price
    s3_put: Price


class ManagerType(_Table):
    vcpu: int
    memory_gib: int
    max_pods: int
    usd_per_hour: Price


class ServiceCatalog(_Table):
    """AWS list prices of us-east-1, in dollars."""

    as_of: str
    source: str
    usd_per_hour: HourlyPrices
    usd_per_month: MonthlyPrices
    usd_per_gb: GigabytePrices
    usd_per_thousand: RequestPrices
    managers: dict[str, ManagerType]


@cache
def service_catalog() -> ServiceCatalog:
    """The checked-in table."""
    path = Path(__file__).parent / "services.yaml"
    return ServiceCatalog.model_validate(yaml.safe_load(path.read_text()))
