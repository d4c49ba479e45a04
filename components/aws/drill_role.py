"""Who may interrupt spot nodes when a researcher asks for a drill."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws import policies

OWN_GROUP = "aws:ResourceTag/aws:autoscaling:groupName"
"""The tag that EC2 Auto Scaling itself puts on an instance; nobody else can write tags of aws:."""


@dataclass(frozen=True, kw_only=True)
class DrillRoleArgs:
    region: str
    account: pulumi.Input[str]
    cluster_arn: pulumi.Output[str]
    spot_groups: Sequence[pulumi.Input[str]]
    """Names of the scaling groups whose instances may be interrupted."""
    tags: Mapping[str, str]


class DrillRole(pulumi.ComponentResource):
    """What AWS's Fault Injection Service may do for `spotrain drill --real`: take back the spot
    nodes of this cluster as EC2 does. Starting it takes the right to pass this role on."""

    arn: pulumi.Output[str]

    def __init__(
        self, name: str, args: DrillRoleArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:DrillRole", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        experiments = pulumi.Output.concat(
            f"arn:aws:fis:{args.region}:", args.account, ":experiment/*"
        )
        role = aws.iam.Role(
            f"{name}-role",
            assume_role_policy=policies.own_service_trust(
                "fis.amazonaws.com", account=args.account, source=experiments
            ),
            tags=dict(args.tags),
            opts=child,
        )
        interrupting = policies.allow(
            ["ec2:SendSpotInstanceInterruptions"],
            # Nodes have no names before they are there.
            [policies.ec2_resources(args.cluster_arn, "instance")],
            conditions={"StringEquals": {OWN_GROUP: list(args.spot_groups)}},
        )
        rights = aws.iam.RolePolicy(
            f"{name}-policy", role=role.id, policy=policies.document([interrupting]), opts=child
        )
        # Told with its rights, or the first drill would fail.
        self.arn = pulumi.Output.all(role.arn, rights.id).apply(lambda both: str(both[0]))
        self.register_outputs({"arn": self.arn})
