"""What a control plane is told beside where it is: ways in, guards, add-ons; data only."""

from collections.abc import Sequence
from ipaddress import IPv4Network
from typing import Any

import pulumi
import pulumi_gcp as gcp

c = gcp.container


def ways_in(blocks: Sequence[IPv4Network]) -> dict[str, Any]:
    """By address for some, or, without blocks, by name for whom IAM lets in."""
    by_name = not blocks
    admitted = [
        c.ClusterMasterAuthorizedNetworksConfigCidrBlockArgs(cidr_block=str(block))
        for block in blocks
    ]
    return {
        "private_cluster_config": c.ClusterPrivateClusterConfigArgs(enable_private_nodes=True),
        "control_plane_endpoints_config": c.ClusterControlPlaneEndpointsConfigArgs(
            dns_endpoint_config=c.ClusterControlPlaneEndpointsConfigDnsEndpointConfigArgs(
                allow_external_traffic=by_name
            ),
            ip_endpoints_config=c.ClusterControlPlaneEndpointsConfigIpEndpointsConfigArgs(
                enabled=not by_name
            ),
        ),
        "master_authorized_networks_config": None
        if by_name
        else c.ClusterMasterAuthorizedNetworksConfigArgs(
            cidr_blocks=admitted,
            # Else every machine in Google's cloud, whoever rents it, is let through.
            gcp_public_cidrs_access_enabled=False,
        ),
    }


def guards(groups_domain: str | None, key: pulumi.Input[str] | None) -> dict[str, Any]:
    """`key`: of the cluster's secrets."""
    return {
        "enable_shielded_nodes": True,
        "enable_legacy_abac": False,
        "master_auth": c.ClusterMasterAuthArgs(
            client_certificate_config=c.ClusterMasterAuthClientCertificateConfigArgs(
                issue_client_certificate=False
            )
        ),
        # Nobody may bind a role to everybody: to whoever has a Google account, or to nobody.
        "rbac_binding_config": c.ClusterRbacBindingConfigArgs(
            enable_insecure_binding_system_authenticated=False,
            enable_insecure_binding_system_unauthenticated=False,
        ),
        "anonymous_authentication_config": c.ClusterAnonymousAuthenticationConfigArgs(
            mode="LIMITED"  # health checks only
        ),
        "node_pool_defaults": c.ClusterNodePoolDefaultsArgs(
            node_config_defaults=c.ClusterNodePoolDefaultsNodeConfigDefaultsArgs(
                insecure_kubelet_readonly_port_enabled="FALSE"
            )
        ),
        "authenticator_groups_config": c.ClusterAuthenticatorGroupsConfigArgs(
            security_group=f"gke-security-groups@{groups_domain}"
        )
        if groups_domain
        else None,
        "database_encryption": c.ClusterDatabaseEncryptionArgs(state="ENCRYPTED", key_name=key)
        if key is not None
        else None,
        "security_posture_config": c.ClusterSecurityPostureConfigArgs(
            mode="BASIC", vulnerability_mode="VULNERABILITY_DISABLED"
        ),
    }


def addons(*, mounts_buckets: bool) -> gcp.container.ClusterAddonsConfigArgs:
    """Drivers of what pods mount, and no load balancer: nothing here is served to the world."""
    return c.ClusterAddonsConfigArgs(
        http_load_balancing=c.ClusterAddonsConfigHttpLoadBalancingArgs(disabled=True),
        gce_persistent_disk_csi_driver_config=(
            c.ClusterAddonsConfigGcePersistentDiskCsiDriverConfigArgs(enabled=True)
        ),
        gcp_filestore_csi_driver_config=c.ClusterAddonsConfigGcpFilestoreCsiDriverConfigArgs(
            enabled=True
        ),
        gcs_fuse_csi_driver_config=c.ClusterAddonsConfigGcsFuseCsiDriverConfigArgs(
            enabled=mounts_buckets
        ),
        # The policies of the job namespace name kube-dns, where pods ask for names.
        dns_cache_config=c.ClusterAddonsConfigDnsCacheConfigArgs(enabled=False),
    )
