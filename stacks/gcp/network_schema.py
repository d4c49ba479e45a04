"""The settings of the network."""

from ipaddress import IPv4Network
from typing import Annotated

from pydantic import Field

from stacks.section import Block, Flag, Section


class ApiAccess(Section):
    """Who reaches the Kubernetes API endpoint. Give `cidrs` or `dns`; there is no default."""

    cidrs: tuple[Block, ...] = ()
    """Public IPv4 blocks that may reach the endpoint's address; default none. The program applies
    Kubernetes objects itself, so the machine that runs it must be in one of them."""
    dns: Flag = False
    """No address of the control plane at all, but a name under gke.goog; default false. Google lets
    through only who has the permission container.clusters.connect in the project, from wherever
    they are: no list of addresses, no VPN."""


class Network(Section):
    """The VPC network of the stack."""

    cidr: Block = IPv4Network("10.0.0.0/20")
    """Addresses of the nodes, /16 to /24, private (RFC 1918); default 10.0.0.0/20: room for 4,000
    nodes."""
    pod_cidr: Block = IPv4Network("10.4.0.0/14")
    """Addresses of pods, /11 to /20; default 10.4.0.0/14. A GPU node takes a block of 64, a manager
    one of 256. It cannot be changed later."""
    service_cidr: Block = IPv4Network("10.8.0.0/20")
    """Addresses of Kubernetes Services, /16 to /24; default 10.8.0.0/20. It cannot be changed
    later."""
    flow_logs: Flag = False
    """Records of connections, in Cloud Logging; default false. They are billed by the GB; an audit
    usually asks for them."""
    api_access: Annotated[
        ApiAccess,
        Field(
            json_schema_extra={
                "next": "set network.api_access to `cidrs: [<your office or runner>/32]`, or to "
                "`dns: true` to let IAM alone decide"
            }
        ),
    ]
    """Who may reach the Kubernetes API endpoint. It has no default because every default is wrong
    for somebody: open to the world, or closed to this very program."""
