"""The EKS control plane, its key, and the way to talk to it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
import pulumi_aws as aws
import pulumi_eks as eks
import pulumi_kubernetes as k8s

ADMIN_POLICY = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


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
    log_types: tuple[str, ...]
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

    name: pulumi.Output[str]
    arn: pulumi.Output[str]
    security_group_id: pulumi.Output[str]
    """The group that EKS puts on control plane and managed nodes."""
    kubeconfig: pulumi.Output[str]
    """Secret: whoever has it and AWS credentials can talk to the cluster."""
    login_command: pulumi.Output[str]
    """How a person gets a kubeconfig of their own."""
    provider: k8s.Provider

    def __init__(
        self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:Cluster", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        plane = self._control_plane().eks_cluster
        self.name, self.arn = plane.name, plane.arn
        self.security_group_id = plane.vpc_config.cluster_security_group_id
        self.login_command = pulumi.Output.concat(
            f"aws eks update-kubeconfig --region {args.region} --name ", self.name
        )
        ways_in = self._ways_in() + self._admins()
        self.kubeconfig = pulumi.Output.secret(
            pulumi.Output.all(
                endpoint=plane.endpoint,
                authority=plane.certificate_authority.data,
                cluster=self.name,
            ).apply(lambda parts: kubeconfig(region=args.region, **parts))
        )
        self.provider = k8s.Provider(
            f"{name}-kubernetes",
            kubeconfig=self.kubeconfig,
            # A changed kubeconfig is the same cluster; without this every object is replaced.
            cluster_identifier=self.arn,
            enable_server_side_apply=True,
            opts=pulumi.ResourceOptions(parent=self, depends_on=ways_in),
        )
        self.register_outputs({"name": self.name, "arn": self.arn})

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
        return eks.Cluster(
            self._name,
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
            opts=self._child,
        )

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

    def _admins(self) -> list[pulumi.Resource]:
        resources: list[pulumi.Resource] = []
        for principal in self._args.shape.admins:
            key = principal.split(":", 4)[4].replace(":", "-").replace("/", "-")
            entry = aws.eks.AccessEntry(
                f"{self._name}-admin-{key}",
                cluster_name=self.name,
                principal_arn=principal,
                type="STANDARD",
                tags=dict(self._args.tags),
                opts=self._child,
            )
            grant = aws.eks.AccessPolicyAssociation(
                f"{self._name}-admin-{key}",
                cluster_name=self.name,
                principal_arn=entry.principal_arn,
                policy_arn=ADMIN_POLICY,
                access_scope=aws.eks.AccessPolicyAssociationAccessScopeArgs(type="cluster"),
                opts=self._child,
            )
            resources += [entry, grant]
        return resources


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
