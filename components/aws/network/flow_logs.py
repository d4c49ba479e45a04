"""A record of who talked to whom."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws import policies


@dataclass(frozen=True, kw_only=True)
class FlowLogsArgs:
    region: str
    vpc_id: pulumi.Input[str]
    account: pulumi.Input[str]
    """The account that owns the VPC."""
    days: int
    """How long a record is kept."""
    tags: Mapping[str, str]


class FlowLogs(pulumi.ComponentResource):
    """Every connection of the VPC, accepted or refused, as a line in CloudWatch."""

    def __init__(
        self, name: str, args: FlowLogsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:FlowLogs", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        tags = dict(args.tags)
        group = aws.cloudwatch.LogGroup(
            f"{name}-records", retention_in_days=args.days, tags=tags, opts=child
        )
        role = aws.iam.Role(f"{name}-role", assume_role_policy=_trust(args), tags=tags, opts=child)
        rights = aws.iam.RolePolicy(
            f"{name}-write", role=role.id, policy=_may_write(group.arn), opts=child
        )
        aws.ec2.FlowLog(
            f"{name}-vpc",
            vpc_id=args.vpc_id,
            traffic_type="ALL",
            log_destination_type="cloud-watch-logs",
            log_destination=group.arn,
            iam_role_arn=role.arn,
            tags=tags,
            # Without its rights it would begin with an access error.
            opts=pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=[rights])),
        )
        self.register_outputs({})


def _trust(args: FlowLogsArgs) -> pulumi.Output[str]:
    """Flow logs of this account and region alone, so that nobody else's fill this log group."""
    source = pulumi.Output.concat("arn:aws:ec2:", args.region, ":", args.account, ":vpc-flow-log/*")
    return policies.own_service_trust(
        "vpc-flow-logs.amazonaws.com", account=args.account, source=source
    )


def _may_write(group_arn: pulumi.Output[str]) -> pulumi.Output[str]:
    """Streams and lines in one log group; not to make a group, or a destroyed one would return."""
    actions = [
        "logs:CreateLogStream",
        "logs:DescribeLogGroups",
        "logs:DescribeLogStreams",
        "logs:PutLogEvents",
    ]
    return policies.document(
        [policies.allow(actions, [group_arn, pulumi.Output.concat(group_arn, ":*")])]
    )
