"""Where the shared file system is reached, and by whom."""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
import pulumi_aws as aws

NFS_PORT = 2049


@dataclass(frozen=True, kw_only=True)
class MountTargetsArgs:
    file_system_id: pulumi.Input[str]
    vpc_id: pulumi.Input[str]
    subnet_ids: Mapping[str, pulumi.Input[str]]
    """Zone -> private subnet."""
    node_security_group_id: pulumi.Input[str]
    cidrs: tuple[IPv4Network, ...]
    """Who may mount beside the nodes."""
    security_groups: tuple[str, ...]
    """Who may mount beside the nodes: of this VPC, or of one that is peered with it."""
    tags: Mapping[str, str]


class MountTargets(pulumi.ComponentResource):
    """An address of the file system in each zone, open to the nodes and to who is named."""

    address: pulumi.Output[str]
    """The one in the first zone; every zone's leads to the same files."""
    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: MountTargetsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:MountTargets", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        group = aws.ec2.SecurityGroup(
            f"{name}-group",
            description="Who may mount the shared file system",
            vpc_id=args.vpc_id,
            tags={**args.tags, "Name": f"{args.tags['stack']}-efs"},
            opts=self._child,
        )
        rules = [
            self._admit("nodes", group, source=args.node_security_group_id),
            *(self._admit(source, group, source=source) for source in args.security_groups),
            *(self._admit(str(block), group, block=block) for block in args.cidrs),
        ]
        targets = {
            zone: aws.efs.MountTarget(
                f"{name}-{zone}",
                file_system_id=args.file_system_id,
                subnet_id=subnet,
                security_groups=[group.id],
                opts=self._child,
            )
            for zone, subnet in args.subnet_ids.items()
        }
        self.address = targets[min(targets)].ip_address
        self.ready = (*rules, *targets.values())
        self.register_outputs({"address": self.address})

    def _admit(
        self,
        who: str,
        group: aws.ec2.SecurityGroup,
        *,
        source: pulumi.Input[str] | None = None,
        block: IPv4Network | None = None,
    ) -> aws.vpc.SecurityGroupIngressRule:
        return aws.vpc.SecurityGroupIngressRule(
            f"{self._name}-from-{who.replace('/', '-')}",
            security_group_id=group.id,
            description="NFS",
            referenced_security_group_id=source,
            cidr_ipv4=str(block) if block else None,
            ip_protocol="tcp",
            from_port=NFS_PORT,
            to_port=NFS_PORT,
            tags=dict(self._args.tags),
            opts=self._child,
        )
