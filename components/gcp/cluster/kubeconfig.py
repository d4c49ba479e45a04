"""How to talk to a cluster."""

import json

import pulumi
import pulumi_gcp as gcp


def kubeconfig(*, cluster: str, server: str, authority: str | None) -> str:
    """A kubeconfig that holds no credential: it asks gcloud's plugin for a token. Without an
    `authority` the server has a certificate that everybody trusts."""
    user = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "gke-gcloud-auth-plugin",
        # Else it asks gcloud, which knows nothing of the login that this program runs with.
        "args": ["--use_application_default_credentials"],
        "provideClusterInfo": True,
        "interactiveMode": "Never",
        "installHint": "gcloud components install gke-gcloud-auth-plugin",
    }
    trusted = {"certificate-authority-data": authority} if authority else {}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": {"server": server, **trusted}}],
            "users": [{"name": cluster, "user": {"exec": user}}],
            "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": cluster}}],
            "current-context": cluster,
        }
    )


def kubeconfig_of(plane: gcp.container.Cluster, *, by_name: bool) -> pulumi.Output[str]:
    """The kubeconfig of a new cluster, as a secret. `by_name`: over its DNS endpoint."""
    endpoints, auth = plane.control_plane_endpoints_config, plane.master_auth
    if by_name:
        host, authority = endpoints.dns_endpoint_config.endpoint, None
    else:
        host, authority = plane.endpoint, auth.cluster_ca_certificate
    text = pulumi.Output.all(cluster=plane.name, host=host, authority=authority).apply(
        lambda parts: kubeconfig(
            cluster=parts["cluster"],
            server=f"https://{parts['host']}",
            authority=parts["authority"],
        )
    )
    return pulumi.Output.secret(text)
