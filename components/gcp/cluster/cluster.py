"""The GKE control plane, and the way to talk to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
import pulumi_gcp as gcp

from components.cloud import Person
from components.gcp.cluster.access import Access, AccessArgs
from components.gcp.cluster.kubeconfig import kubeconfig_of
from components.gcp.cluster.plane_settings import addons, guards, ways_in
from components.gcp.cluster.secrets_key import SecretsKey, SecretsKeyArgs
from components.gcp.network.network import PODS, SERVICES
from components.gcp.network.ranges import PODS_PER_MANAGER
from components.gcp.nodes.node_config import node_config
from components.gcp.reference import ClusterReference, Place
from components.kubernetes_provider import kubernetes_provider

UNTIL_REMOVED, UNTIL_REMOVED_GB = "e2-small", 20
"""GKE makes no cluster without a node; the one that it makes goes at once. In a region it makes
three, whose disks, of 100 GB if nobody says so, are more than the 250 of a new project's quota."""
LONGEST_CHANGE = "60m"
"""An upgrade of the control plane and whatever waits before it."""


@dataclass(frozen=True, kw_only=True)
class ClusterShape:
    """What a stack file decides about the control plane."""

    version: str
    channel: str
    location: str
    """A zone, or the region."""
    public_cidrs: tuple[IPv4Network, ...]
    """Who may reach its address; empty: it has none, but a name that IAM guards."""
    admins: tuple[str, ...]
    researchers: tuple[str, ...]
    groups_domain: str | None
    has_key: bool
    deletion_protection: bool
    autoscaling_profile: str
    container_logs: bool
    mounts_buckets: bool


@dataclass(frozen=True, kw_only=True)
class ClusterArgs:
    shape: ClusterShape
    place: Place
    network_id: pulumi.Input[str]
    subnet_id: pulumi.Input[str]
    node_account: pulumi.Input[str]
    """E-mail address of the nodes' service account."""
    after: Sequence[pulumi.Resource]
    """APIs, routes, and the rights of the nodes' account."""


class Cluster(pulumi.ComponentResource):
    """A Standard cluster without nodes of its own, with everything set that GKE leaves open.

    Private nodes, network policies, identities for pods, no way in but the one that the stack file
    names, no certificates or old rights, and no role for people whom nobody knows.
    """

    reference: ClusterReference
    researchers: tuple[Person, ...]
    login_command: pulumi.Output[str]
    """How a person gets a kubeconfig of their own."""

    def __init__(
        self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:gcp:Cluster", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        self._by_name = not args.shape.public_cidrs
        plane = self._control_plane()
        kubernetes = kubernetes_provider(
            f"{name}-kubernetes",
            kubeconfig=kubeconfig_of(plane, by_name=self._by_name),
            cluster=plane.id,
            opts=self._child,
        )
        access = AccessArgs(
            place=args.place,
            admins=args.shape.admins,
            researchers=args.shape.researchers,
            kubernetes=kubernetes,
            after=args.after,
        )
        self.researchers = Access(f"{name}-access", access, self._child).researchers
        where = f" --location {args.shape.location} --project {args.place.project}"
        self.login_command = pulumi.Output.concat(
            "gcloud container clusters get-credentials ",
            plane.name,
            where + (" --dns-endpoint" if self._by_name else ""),
        )
        self.reference = ClusterReference(
            name=plane.name, location=args.shape.location, kubernetes=kubernetes
        )
        self.register_outputs({"name": plane.name})

    def _control_plane(self) -> gcp.container.Cluster:
        args, shape = self._args, self._args.shape
        key = self._key()
        return gcp.container.Cluster(
            f"{self._name}-plane",
            location=shape.location,
            # Nodes are ours, as resources that can be seen and tested.
            remove_default_node_pool=True,
            initial_node_count=1,
            node_config=gcp.container.ClusterNodeConfigArgs(
                machine_type=UNTIL_REMOVED,
                disk_size_gb=UNTIL_REMOVED_GB,
                **node_config(args.node_account),
            ),
            network=args.network_id,
            subnetwork=args.subnet_id,
            networking_mode="VPC_NATIVE",
            ip_allocation_policy=gcp.container.ClusterIpAllocationPolicyArgs(
                cluster_secondary_range_name=PODS, services_secondary_range_name=SERVICES
            ),
            default_max_pods_per_node=PODS_PER_MANAGER,
            datapath_provider="ADVANCED_DATAPATH",  # network policies come with it
            **ways_in(shape.public_cidrs),
            release_channel=gcp.container.ClusterReleaseChannelArgs(channel=shape.channel),
            min_master_version=shape.version,
            workload_identity_config=gcp.container.ClusterWorkloadIdentityConfigArgs(
                workload_pool=f"{args.place.project}.svc.id.goog"
            ),
            **guards(shape.groups_domain, key.id if key else None),
            addons_config=addons(mounts_buckets=shape.mounts_buckets),
            cluster_autoscaling=gcp.container.ClusterClusterAutoscalingArgs(
                # Pools are named; GKE invents none.
                enabled=False,
                autoscaling_profile=shape.autoscaling_profile,
            ),
            logging_config=gcp.container.ClusterLoggingConfigArgs(
                enable_components=[
                    "SYSTEM_COMPONENTS",
                    *(["WORKLOADS"] if shape.container_logs else []),
                ]
            ),
            monitoring_config=gcp.container.ClusterMonitoringConfigArgs(
                enable_components=["SYSTEM_COMPONENTS"],
                # Billed by the sample; observability.metrics brings a Prometheus of the stack's.
                managed_prometheus=gcp.container.ClusterMonitoringConfigManagedPrometheusArgs(
                    enabled=False
                ),
            ),
            cost_management_config=gcp.container.ClusterCostManagementConfigArgs(enabled=True),
            deletion_protection=shape.deletion_protection,
            resource_labels=args.place.labels,
            opts=pulumi.ResourceOptions.merge(
                self._child,
                pulumi.ResourceOptions(
                    depends_on=[*args.after, *(key.ready if key else ())],
                    # Of the node that is gone; what Google says of it later is of other nodes.
                    ignore_changes=["nodeConfig", "initialNodeCount"],
                    custom_timeouts=pulumi.CustomTimeouts(
                        create=LONGEST_CHANGE, update=LONGEST_CHANGE, delete=LONGEST_CHANGE
                    ),
                ),
            ),
        )

    def _key(self) -> SecretsKey | None:
        if not self._args.shape.has_key:
            return None
        args = SecretsKeyArgs(place=self._args.place, after=self._args.after)
        return SecretsKey(f"{self._name}-key", args, self._child)
