"""Spot prices of EC2."""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import boto3  # type: ignore[import-untyped]
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.exceptions import (  # type: ignore[import-untyped]
    BotoCoreError,
    ClientError,
    NoCredentialsError,
)

from spotrain import contract
from spotrain.clouds.prices import RefreshError
from spotrain.ledger.prices import Quote

PRODUCTS: Final = ("Linux/UNIX", "Linux/UNIX (Amazon VPC)")
"""EC2 calls Linux by either name, by the age of the account."""
PATIENCE: Final = Config(
    connect_timeout=10, read_timeout=20, retries={"mode": "standard", "total_max_attempts": 5}
)
"""A throttled request waits longer each time, for about 20 s in all."""
IDENTITY: Final = f"{contract.SYSTEM_NAMESPACE}/{contract.PRICES_REFRESHER}"
NEXT: Final[Mapping[str, str]] = {
    "UnauthorizedOperation": f"give the role of {IDENTITY} ec2:DescribeSpotPriceHistory: pulumi up",
    "RequestLimitExceeded": "the next run asks again",
    "AuthFailure": f"check the pod identity association of {IDENTITY}, and that the region is on",
}


def connect(region: str) -> Any:
    """An EC2 client with the identity of this pod; outside of one, of whoever is logged in."""
    return boto3.Session().client("ec2", region_name=region, config=PATIENCE)


def spot_quotes(
    ec2: Any, types: Sequence[str], zones: Sequence[str], *, now: datetime
) -> list[Quote]:
    """The price of each type in each zone since it last changed; RefreshError where EC2 refuses."""
    if not types:
        return []
    pages = ec2.get_paginator("describe_spot_price_history").paginate(
        InstanceTypes=list(types),
        ProductDescriptions=list(PRODUCTS),
        Filters=[{"Name": "availability-zone", "Values": list(zones)}],
        StartTime=now,  # answers what holds from now on: one price each, not its history
    )
    try:
        return [quote for page in pages for quote in _quotes(page["SpotPriceHistory"])]
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        step = NEXT.get(code, "see the message")
        raise RefreshError(f"EC2 tells no spot prices: {_line(error)} Next: {step}.") from error
    except NoCredentialsError as error:
        step = f"check the pod identity association of {IDENTITY}; a pod older than it has none"
        raise RefreshError(f"EC2 tells no spot prices: {_line(error)}. Next: {step}.") from error
    except BotoCoreError as error:
        step = "the next run asks again; if none succeeds, check the way from the pod to EC2"
        raise RefreshError(f"EC2 was not reached: {_line(error)} Next: {step}.") from error


def _quotes(records: Sequence[Mapping[str, Any]]) -> Iterator[Quote]:
    """A record without a price says nothing, and is passed over."""
    for record in records:
        price = float(record["SpotPrice"])
        if math.isfinite(price) and price > 0:
            yield Quote(
                instance_type=record["InstanceType"],
                zone=record["AvailabilityZone"],
                usd_per_hour=price,
                since=record["Timestamp"],
            )


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
