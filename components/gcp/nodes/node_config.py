"""What every node has in common, whoever makes it."""

from typing import Any

import pulumi
import pulumi_gcp as gcp


def node_config(account: pulumi.Input[str]) -> dict[str, Any]:
    """Arguments that cluster and node pools take alike. `account`: e-mail address of the nodes'
    service account."""
    return {
        "service_account": account,
        # What the account may do, IAM says; scopes are an older lock on the same door.
        "oauth_scopes": ["https://www.googleapis.com/auth/cloud-platform"],
        "image_type": "COS_CONTAINERD",
        "disk_type": "pd-balanced",
        "metadata": {"disable-legacy-endpoints": "true"},
    }


def pool_config(account: pulumi.Input[str]) -> dict[str, Any]:
    """Arguments of every node pool."""
    c = gcp.container
    return {
        **node_config(account),
        # Pods get an identity of their own from the metadata server, never the node's.
        "workload_metadata_config": c.NodePoolNodeConfigWorkloadMetadataConfigArgs(
            mode="GKE_METADATA"
        ),
        "shielded_instance_config": c.NodePoolNodeConfigShieldedInstanceConfigArgs(
            enable_secure_boot=True, enable_integrity_monitoring=True
        ),
        "gvnic": c.NodePoolNodeConfigGvnicArgs(enabled=True),
        # An image starts while most of it is still on the way.
        "gcfs_config": c.NodePoolNodeConfigGcfsConfigArgs(enabled=True),
    }


def longest_change(nodes: int) -> pulumi.CustomTimeouts:
    """GKE takes one node after the other, and waits for the pods of each."""
    minutes = f"{max(60, 15 * nodes)}m"
    return pulumi.CustomTimeouts(create="60m", update=minutes, delete=minutes)
