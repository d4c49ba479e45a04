"""How many nodes a stack's addresses hold, as arithmetic: no Pulumi, no Google."""

from ipaddress import IPv4Network

PODS_PER_GPU_NODE = 32
"""A worker or a few, and what runs on every node. GKE sets a /26 aside for as many."""
PODS_PER_MANAGER = 110
"""GKE's default, and a /24."""
ADDRESSES_PER_GPU_NODE, ADDRESSES_PER_MANAGER = 64, 256
RESERVED = 4
"""Addresses of a subnet that Google keeps."""
OTHERS = 16
"""Addresses of the subnet for what is no node of ours: the control plane's own, and the pool of
nodes that GKE makes and removes with the cluster."""


def node_addresses(subnet: IPv4Network) -> int:
    """Nodes that find an address."""
    return max(0, subnet.num_addresses - RESERVED - OTHERS)


def pod_addresses(*, gpu_nodes: int, managers: int) -> int:
    """Addresses that GKE sets aside for the pods of so many nodes."""
    return gpu_nodes * ADDRESSES_PER_GPU_NODE + managers * ADDRESSES_PER_MANAGER
