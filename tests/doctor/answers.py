"""Recorded answers of an AWS account: all is well, unless a test says otherwise."""

from dataclasses import replace
from typing import Any

from spotrain.clouds.account import Account, Identity, Quota, Subnet
from spotrain.clouds.answers import Refused
from spotrain.job import Pool

ZONES = ("us-east-1a", "us-east-1b")
TYPES = ("g4dn.xlarge", "g4dn.2xlarge")
DIGEST = "sha256:" + "1" * 64
REGISTRY = "123456789012.dkr.ecr.us-east-1.amazonaws.com/spotrain/training"
SPOT_G = Quota("L-3819A6DF", "All G and VT Spot Instance Requests", 64)
SPOT_P = Quota("L-7212CCBC", "All P4, P3 and P2 Spot Instance Requests", 0)
SPOT_P5 = Quota("L-C4BD4855", "All P5 Spot Instance Requests", 0)
SPOT_STANDARD = Quota(
    "L-34B43A08", "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests", 5
)
SPOT_INF = Quota("L-B5D1601B", "All Inf Spot Instance Requests", 0)
ON_DEMAND_G = Quota("L-DB2E81BA", "Running On-Demand G and VT instances", 0)
ON_DEMAND_P = Quota("L-417A185B", "Running On-Demand P instances", 0)
QUOTAS = (SPOT_G, SPOT_P, SPOT_P5, SPOT_STANDARD, SPOT_INF, ON_DEMAND_G, ON_DEMAND_P)
VCPUS = {"g4dn.xlarge": 4, "g4dn.2xlarge": 8, "p4d.24xlarge": 96, "p5.48xlarge": 192}
DENIED = Refused("AccessDeniedException", "User ada is not authorized to perform this")
THROTTLED = Refused("ThrottlingException", "Rate exceeded")
LOGGED_OUT = Refused("ExpiredToken", "The security token included in the request is expired")


def pool(name: str = "t4-spot", **changed: Any) -> Pool:
    """Of four nodes a zone: 64 vCPUs, if all of them are of the larger type."""
    values: dict[str, Any] = {
        "name": name,
        "gpu": "t4",
        "gpus_per_node": 1,
        "capacity": "spot",
        "zones": ZONES,
        "instance_types": TYPES,
        "max_nodes": 4,
        "notice_seconds": 90,
        "on_demand_usd_per_hour": 0.5,
    }
    return Pool(**values | changed)


WELL = Account(
    region="us-east-1",
    cluster="dev",
    identity=Identity("123456789012", "arn:aws:sts::123456789012:assumed-role/Team/ada"),
    quotas=QUOTAS,
    vcpus=VCPUS,
    has_spot_role=True,
    offerings=frozenset((each, zone) for each in TYPES for zone in ZONES),
    subnets=tuple(Subnet(f"subnet-{zone[-1]}", zone, 8 * 24) for zone in ZONES),
    images={f"{REGISTRY}@{DIGEST}": True},
)


def account(**changed: Any) -> Account:
    return replace(WELL, **changed)
