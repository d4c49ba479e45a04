"""How objects get into a cluster, on every cloud."""

import pulumi
import pulumi_kubernetes as k8s


def kubernetes_provider(
    name: str,
    *,
    kubeconfig: pulumi.Input[str],
    cluster: pulumi.Input[str],
    context: str | None = None,
    opts: pulumi.ResourceOptions,
) -> k8s.Provider:
    """A provider for the cluster that a kubeconfig, or a context in it, leads to.

    `cluster` is what stays the same while kubeconfig or address change: without it a changed
    kubeconfig is another cluster, and every object is replaced.
    """
    return k8s.Provider(
        name,
        kubeconfig=kubeconfig,
        context=context,
        cluster_identifier=cluster,
        enable_server_side_apply=True,
        # Else a ConfigMap that changes is deleted and made again, and whoever reads it finds none
        # in between: with the pools, every job would be told that there is no place for it.
        enable_config_map_mutable=True,
        opts=opts,
    )
