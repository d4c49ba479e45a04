"""The EKS control plane, its key, and the way to talk to it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
import pulumi_aws as aws
import pulumi_eks as eks
import pulumi_kubernetes as k8s
import pulumi_random as random

from components.aws.access import Access, AccessArgs
from components.aws.reference import ClusterReference


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
    vpc_id: pulumi.Input[str]
    vpc_cidr: IPv4Network
    subnet_ids: Sequence[pulumi.Input[str]]
    tags: Mapping[str, str]


class Cluster(pulumi.ComponentResource):
    """The control plane by pulumi_eks, with everything set that it defaults badly.

    Left alone it would use the old authentication mode, a public endpoint only, no logs, extended
    (six times dearer) support, a node group, two security groups and unmanaged add-ons.
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
        plane = self._control_plane().eks_cluster
        self.security_group_id = plane.vpc_config.cluster_security_group_id
        self.login_command = pulumi.Output.concat(
            f"aws eks update-kubeconfig --region {args.region} --name ", plane.name
        )
        access = Access(
            f"{name}-access",
            AccessArgs(
                cluster_name=plane.name,
                admins=args.shape.admins,
                researchers=args.shape.researchers,
                tags=args.tags,
            ),
            self._child,
        )
        self.kubeconfig = pulumi.Output.secret(
            pulumi.Output.all(
                endpoint=plane.endpoint,
                authority=plane.certificate_authority.data,
                cluster=plane.name,
            ).apply(lambda parts: kubeconfig(region=args.region, **parts))
        )
        provider = k8s.Provider(
            f"{name}-kubernetes",
            kubeconfig=self.kubeconfig,
            # A changed kubeconfig is the same cluster; without this every object is replaced.
            cluster_identifier=plane.arn,
            enable_server_side_apply=True,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*self._ways_in(), *access.ready]),
        )
        self.reference = ClusterReference(
            name=plane.name,
            arn=plane.arn,
            region=args.region,
            version=args.shape.version,
            kubernetes=provider,
        )
        self.register_outputs({"name": plane.name, "arn": plane.arn})

    def _control_plane(self) -> eks.Cluster:
        args, shape = self._args, self._args.shape
        key = aws.kms.Key(
            f"{self._name}-secrets",
            description="Envelope encryption of the cluster's Kubernetes secrets",
            enable_key_rotation=True,
            deletion_window_in_days=7,
            tags=dict(args.tags),
            opts=self._child,
        )
        name = self._physical_name()
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
            cluster_tags=dict(args.tags),
            opts=pulumi.ResourceOptions.merge(
                self._child, pulumi.ResourceOptions(depends_on=self._log_group(name))
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
        stack = args.tags["stack"].replace(".", "-")
        return pulumi.Output.concat(f"{args.tags['project']}-{stack}-", suffix.id)

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

    def _ways_in(self) -> list[pulumi.Resource]:
        """A private endpoint admits only nodes until a rule admits the rest of the VPC."""
        if self._args.shape.public_cidrs:
            return []
        return [
            aws.vpc.SecurityGroupIngressRule(
                f"{self._name}-api-from-{_key(block)}",
                security_group_id=self.security_group_id,
                description="Kubernetes API from a private network",
                cidr_ipv4=str(block),
                ip_protocol="tcp",
                from_port=443,
                to_port=443,
                tags=dict(self._args.tags),
                opts=self._child,
            )
            for block in (self._args.vpc_cidr, *self._args.shape.private_cidrs)
        ]


def _key(block: IPv4Network) -> str:
    return str(block).replace("/", "-")


def kubeconfig(*, region: str, cluster: str, endpoint: str, authority: str) -> str:
    """A kubeconfig that holds no credential: it asks the AWS command line for a token."""
    user = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "aws",
        "args": ["--region", region, "eks", "get-token", "--cluster-name", cluster],
        "interactiveMode": "Never",
    }
    server = {"server": endpoint, "certificate-authority-data": authority}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": server}],
            "users": [{"name": cluster, "user": {"exec": user}}],
            "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": cluster}}],
            "current-context": cluster,
        }
    )
