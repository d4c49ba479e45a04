"""Who may ask EC2 what spot nodes cost."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws import policies
from components.aws.pod_role import PodRole, PodRoleArgs
from components.aws.reference import ClusterReference
from components.cloud import PriceSource
from spotrain import contract


@dataclass(frozen=True, kw_only=True)
class PriceIdentityArgs:
    cluster: ClusterReference
    tags: Mapping[str, str]


class PriceIdentity(pulumi.ComponentResource):
    """The AWS identity of the refresher's pods: one action, in one region."""

    source: PriceSource

    def __init__(
        self, name: str, args: PriceIdentityArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:PriceIdentity", name, {}, opts)
        region = args.cluster.region
        asking = policies.allow(
            ["ec2:DescribeSpotPriceHistory"],
            ["*"],  # prices belong to no resource
            conditions={"StringEquals": {"aws:RequestedRegion": region}},
        )
        role = PodRole(
            f"{name}-identity",
            PodRoleArgs(
                cluster_arn=args.cluster.arn,
                namespace=contract.SYSTEM_NAMESPACE,
                service_account=contract.PRICES_REFRESHER,
                statements=[asking],
                tags=args.tags,
            ),
            pulumi.ResourceOptions(parent=self),
        )
        identity = aws.eks.PodIdentityAssociation(
            f"{name}-identity",
            cluster_name=args.cluster.name,
            namespace=contract.SYSTEM_NAMESPACE,
            service_account=contract.PRICES_REFRESHER,
            role_arn=role.arn,
            tags=dict(args.tags),
            # Given out with its rights, or the first run would fail.
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(role.ready)),
        )
        self.source = PriceSource(arguments=("aws", "--region", region), ready=(identity,))
        self.register_outputs({})
