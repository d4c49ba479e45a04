"""The EKS control plane, its key, and the way to talk to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
import pulumi_aws as aws
import pulumi_eks as eks
import pulumi_kubernetes as k8s
import pulumi_random as random

from components.aws.cluster.access import Access, AccessArgs
from components.aws.cluster.control_plane_role import ControlPlaneRole, ControlPlaneRoleArgs
from components.aws.cluster.kubeconfig import kubeconfig_of
from components.aws.reference import ClusterReference
from components.kubernetes_provider import kubernetes_provider

Plane = pulumi.Output[aws.eks.Cluster]


@dataclass(frozen=True, kw_only=True)
class ClusterShape:
    """What a stack file decides about the control plane."""

    version: str
    service_cidr: IPv4Network
    public_cidrs: tuple[IPv4Network, ...]
    """Who may reach a public endpoint; empty means that there is none."""
    private_cidrs: tuple[IPv4Network, ...]
    """Who, beside the VPC, may reach the private endpoint."""
    admins: tuple[str, ...]
    """Principals with full rights."""
    researchers: tuple[str, ...]
    """Principals that are nothing but members of the researchers' group."""
    log_types: tuple[str, ...]
    log_days: int
    deletion_protection: bool


@dataclass(frozen=True, kw_only=True)
class ClusterArgs:
    shape: ClusterShape
    region: str
    account: pulumi.Input[str]
    """The account that everything is in."""
    vpc_id: pulumi.Input[str]
    vpc_cidr: IPv4Network
    subnet_ids: Sequence[pulumi.Input[str]]
    """Where the control plane has its addresses; in at least two zones, and in no other zones later
    (EKS refuses that), so only in zones that stay. Nodes may be in any subnet of the VPC."""
    tags: Mapping[str, str]


class Cluster(pulumi.ComponentResource):
    """The control plane by pulumi_eks, with everything set that it defaults badly.

    Left alone it would use the old authentication mode, a public endpoint only, no logs, extended
    (six times dearer) support, a node group, two security groups and unmanaged add-ons. What it
    offers no way to change suits us: whoever creates the cluster gets an access entry with full
    rights, without which this program could not make the first Kubernetes object.
    """

    reference: ClusterReference
    security_group_id: pulumi.Output[str]
    """The group that EKS puts on control plane and managed nodes."""
    kubeconfig: pulumi.Output[str]
    """Secret: whoever has it and AWS credentials can talk to the cluster."""
    login_command: pulumi.Output[str]
    """How a person gets a kubeconfig of their own."""

    def __init__(
        self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:Cluster", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        made = self._control_plane()
        plane = made.eks_cluster
        self.security_group_id = plane.vpc_config.cluster_security_group_id
        self.login_command = pulumi.Output.concat(
            f"aws eks update-kubeconfig --region {args.region} --name ", plane.name
        )
        self.kubeconfig = kubeconfig_of(made, args.region)
        self.reference = ClusterReference(
            name=plane.name,
            arn=plane.arn,
            region=args.region,
            version=args.shape.version,
            kubernetes=self._kubernetes(plane),
        )
        self.register_outputs({"name": plane.name, "arn": plane.arn})

    def _kubernetes(self, plane: Plane) -> k8s.Provider:
        shape, vpc = self._args.shape, self._args.vpc_cidr
        args = AccessArgs(
            cluster_name=plane.name,
            security_group_id=self.security_group_id,
            networks=() if shape.public_cidrs else (vpc, *shape.private_cidrs),
            admins=shape.admins,
            researchers=shape.researchers,
            tags=self._args.tags,
        )
        access = Access(f"{self._name}-access", args, self._child)
        return kubernetes_provider(
            f"{self._name}-kubernetes",
            kubeconfig=self.kubeconfig,
            cluster=plane.arn,
            # Objects come after whoever may make them, and go before.
            opts=pulumi.ResourceOptions(parent=self, depends_on=access.ready),
        )

    def _key(self) -> aws.kms.Key:
        """Its policy is AWS's default: the account's IAM says who may use it."""
        return aws.kms.Key(
            f"{self._name}-secrets",
            description="Envelope encryption of the cluster's Kubernetes secrets",
            enable_key_rotation=True,
            deletion_window_in_days=7,
            tags=dict(self._args.tags),
            opts=self._child,
        )

    def _identity(self, key: aws.kms.Key) -> ControlPlaneRole:
        args = ControlPlaneRoleArgs(
            account=self._args.account,
            # A cluster that is being replaced keeps its role to the end.
            cluster=pulumi.Output.concat(
                f"arn:aws:eks:{self._args.region}:",
                self._args.account,
                f":cluster/{self._name_prefix()}-*",
            ),
            key_arn=key.arn,
            tags=self._args.tags,
        )
        return ControlPlaneRole(f"{self._name}-identity", args, self._child)

    def _control_plane(self) -> eks.Cluster:
        args, shape = self._args, self._args.shape
        key, name = self._key(), self._physical_name()
        identity = self._identity(key)
        return eks.Cluster(
            self._name,
            name=name,
            version=shape.version,
            upgrade_policy=aws.eks.ClusterUpgradePolicyArgs(support_type="STANDARD"),
            authentication_mode=eks.AuthenticationMode.API,
            vpc_id=args.vpc_id,
            private_subnet_ids=list(args.subnet_ids),
            kubernetes_service_ip_address_range=str(shape.service_cidr),
            endpoint_private_access=True,
            endpoint_public_access=bool(shape.public_cidrs),
            public_access_cidrs=[str(block) for block in shape.public_cidrs] or None,
            enabled_cluster_log_types=list(shape.log_types),
            service_role=identity.role,
            encryption_config_key_arn=key.arn,
            deletion_protection=shape.deletion_protection,
            # Nodes, groups and add-ons are ours, as resources that can be seen and tested.
            skip_default_node_group=True,
            skip_default_security_groups=True,
            create_instance_role=False,
            create_oidc_provider=False,  # Pod Identity needs none
            bootstrap_self_managed_addons=False,
            use_default_vpc_cni=True,  # "leave the CNI alone"
            coredns_addon_options=eks.CoreDnsAddonOptionsArgs(enabled=False),
            kube_proxy_addon_options=eks.KubeProxyAddonOptionsArgs(enabled=False),
            tags=dict(args.tags),
            opts=pulumi.ResourceOptions(
                parent=self, depends_on=[*identity.ready, *self._log_group(name)]
            ),
        )

    def _physical_name(self) -> pulumi.Output[str]:
        """Known before the cluster, for its log group; another one for every new cluster, so that
        a replacement never meets the name of what it replaces."""
        args = self._args
        suffix = random.RandomString(
            f"{self._name}-suffix",
            length=6,
            upper=False,
            special=False,
            # What makes AWS replace the cluster.
            keepers={"vpc": args.vpc_id, "service_cidr": str(args.shape.service_cidr)},
            opts=self._child,
        )
        return pulumi.Output.concat(f"{self._name_prefix()}-", suffix.id)

    def _name_prefix(self) -> str:
        tags = self._args.tags
        return f"{tags['project']}-{tags['stack'].replace('.', '-')}"

    def _log_group(self, cluster: pulumi.Output[str]) -> list[pulumi.Resource]:
        """Made before EKS makes it by itself, which would keep the logs for ever."""
        if not self._args.shape.log_types:
            return []
        group = aws.cloudwatch.LogGroup(
            f"{self._name}-logs",
            name=pulumi.Output.concat("/aws/eks/", cluster, "/cluster"),
            retention_in_days=self._args.shape.log_days,
            tags=dict(self._args.tags),
            opts=self._child,
        )
        return [group]
