"""The settings of the VPC."""

from ipaddress import IPv4Network
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from stacks.section import Block, Section, as_text

LogDays = Annotated[
    Literal[1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731],
    BeforeValidator(lambda given: as_text(given) if isinstance(given, bool) else given),
]
"""The retention times that CloudWatch knows."""
Endpoint = Literal[
    "ecr.api",
    "ecr.dkr",
    "sts",
    "ec2",
    "eks",
    "eks-auth",
    "autoscaling",
    "elasticfilesystem",
    "logs",
]


class ApiAccess(Section):
    """Who reaches the Kubernetes API endpoint. Give `cidrs` or `private`; there is no default."""

    cidrs: tuple[Block, ...] = ()
    """Public IPv4 blocks that may reach a public endpoint; default none. The program applies
    Kubernetes objects itself, so the machine that runs it must be in one of them."""
    private: Literal["vpn", "runner"] | None = None
    """No public endpoint at all; names the way in: `vpn` (a VPN, peering or transit gateway into
    the VPC) or `runner` (the program runs on a machine inside the VPC). Default none."""
    private_cidrs: tuple[Block, ...] = ()
    """With `private`: address blocks beside the VPC's own from which connections arrive; default
    none, which fits a runner and AWS Client VPN (it arrives with the VPC's addresses)."""


class Network(Section):
    """The VPC."""

    cidr: Block = IPv4Network("10.0.0.0/16")
    """Address block of the VPC, /16 to /20, private (RFC 1918); default 10.0.0.0/16. Every pod has
    an address of its own, so the largest block costs nothing and never has to be changed."""
    service_cidr: Block = IPv4Network("172.20.0.0/16")
    """Address block of Kubernetes Services; default 172.20.0.0/16. It exists only inside the
    cluster, must not overlap the VPC, and cannot be changed later."""
    nat: Literal["single", "per_zone"] = "single"
    """NAT gateways: `single` (default; cheapest, and a loss of its zone cuts all nodes off the
    internet) or `per_zone` (one each; no traffic between zones)."""
    endpoints: tuple[Endpoint, ...] = ()
    """AWS services that nodes reach inside the VPC instead of through the NAT; default none. Each
    costs about $7.30 a month and zone; `ecr.api` with `ecr.dkr` pays off with much image traffic.
    S3 has a gateway endpoint in any case: it is free."""
    flow_log_days: LogDays | None = None
    """Days that records of every connection are kept in CloudWatch; default: no records. They are
    billed by the GB; an audit usually asks for them."""
    api_access: Annotated[
        ApiAccess,
        Field(
            json_schema_extra={
                "next": "set network.api_access to `cidrs: [<your office or runner>/32]`, "
                "or to `private: vpn` or `private: runner` for no public endpoint"
            }
        ),
    ]
    """Who may reach the Kubernetes API endpoint. It has no default because every default is wrong
    for somebody: open to the world, or closed to this very program."""
