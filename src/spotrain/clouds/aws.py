"""Spot prices of EC2."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import boto3  # type: ignore[import-untyped]
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.exceptions import (  # type: ignore[import-untyped]
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    SSOError,
    TokenRetrievalError,
)

from spotrain import contract
from spotrain.clouds.history import NoHistory
from spotrain.clouds.prices import RefreshError
from spotrain.ledger.prices import Quote

PRODUCTS: Final = ("Linux/UNIX", "Linux/UNIX (Amazon VPC)")
"""EC2 calls Linux by either name, by the age of the account."""
PATIENCE: Final = Config(
    connect_timeout=10, read_timeout=20, retries={"mode": "standard", "total_max_attempts": 5}
)
"""A throttled request waits longer each time, for about 20 s in all."""
LOGGED_OUT: Final = (
    NoCredentialsError,
    CredentialRetrievalError,
    SSOError,
    TokenRetrievalError,
)
IDENTITY: Final = f"{contract.SYSTEM_NAMESPACE}/{contract.PRICES_REFRESHER}"


@dataclass(frozen=True, kw_only=True)
class _Asker:
    """What somebody can do who is refused."""

    error: type[Exception]
    steps: Mapping[str, str]
    """By EC2's error code."""
    credentials: str
    unreached: str


_REFRESHER: Final = _Asker(
    error=RefreshError,
    steps={
        "UnauthorizedOperation": f"give the role of {IDENTITY} ec2:DescribeSpotPriceHistory: "
        "pulumi up",
        "RequestLimitExceeded": "the next run asks again",
        "AuthFailure": f"check the pod identity association of {IDENTITY}, and that the region is "
        "on",
    },
    credentials=f"check the pod identity association of {IDENTITY}; a pod older than it has none",
    unreached="the next run asks again; if none succeeds, check the way from the pod to EC2",
)
LOG_IN: Final = "log in to AWS (aws sso login), or set AWS_PROFILE"
_PERSON: Final = _Asker(
    error=NoHistory,
    steps={
        "UnauthorizedOperation": "ask for the right ec2:DescribeSpotPriceHistory",
        "RequestLimitExceeded": "try again in a minute",
        "OptInRequired": "the region is not switched on for this account",
        **dict.fromkeys(("AuthFailure", "ExpiredToken", "RequestExpired"), LOG_IN),
    },
    credentials=LOG_IN,
    unreached="check the network, and that the region is one of AWS",
)


def connect(region: str) -> Any:
    """An EC2 client with the identity of this pod; outside of one, of whoever is logged in."""
    return boto3.Session().client("ec2", region_name=region, config=PATIENCE)


def spot_quotes(
    ec2: Any, types: Sequence[str], zones: Sequence[str], *, now: datetime
) -> list[Quote]:
    """The price of each type in each zone since it last changed; RefreshError where EC2 refuses."""
    # From now on: one price each, not its history.
    return list(_ask(ec2, types, zones, _REFRESHER, StartTime=now))


def spot_history(
    region: str, types: Sequence[str], zones: Sequence[str], since: datetime, until: datetime
) -> list[Quote]:
    """Every price from `since` to `until`, and those that held at `since`.

    Raises:
        NoHistory: nobody is logged in, or may not ask, or EC2 does not answer.
    """
    try:
        ec2 = connect(region)
    except BotoCoreError as error:
        raise NoHistory(f"no way to ask EC2: {line(error)}. Next: {LOG_IN}.") from error
    return list(_ask(ec2, types, zones, _PERSON, StartTime=since, EndTime=until))


def _ask(
    ec2: Any, types: Sequence[str], zones: Sequence[str], asker: _Asker, **times: datetime
) -> Iterator[Quote]:
    if not types or not zones:
        return
    pages = ec2.get_paginator("describe_spot_price_history").paginate(
        InstanceTypes=list(types),
        ProductDescriptions=list(PRODUCTS),
        Filters=[{"Name": "availability-zone", "Values": list(zones)}],
        **times,
    )
    try:
        for page in pages:
            yield from _quotes(page["SpotPriceHistory"])
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        step = asker.steps.get(code, "see the message")
        raise asker.error(f"EC2 tells no spot prices: {line(error)} Next: {step}.") from error
    except LOGGED_OUT as error:
        step = asker.credentials
        raise asker.error(f"EC2 tells no spot prices: {line(error)}. Next: {step}.") from error
    except BotoCoreError as error:
        step = asker.unreached
        raise asker.error(f"EC2 was not reached: {line(error)} Next: {step}.") from error


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


def line(error: Exception) -> str:
    return " ".join(str(error).split())
