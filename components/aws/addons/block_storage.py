"""A disk for the platform's own, and what attaches it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws.addons import block_storage_rights
from components.aws.addons.addon import AddOn, AddOnArgs, Rights
from components.aws.reference import ClusterReference
from components.cloud import CsiVolume, Disk

DRIVER = "ebs.csi.aws.com"
DRIVER_SETTINGS = {"node": {"tolerateAllTaints": True}}
"""Keys: charts/aws-ebs-csi-driver/values.schema.json. Replicas, their spread over nodes and their
disruption budget are the driver's defaults."""


@dataclass(frozen=True, kw_only=True)
class BlockStorageArgs:
    cluster: ClusterReference
    driver_version: str | None
    """None: EKS picks its default."""
    size_gib: int
    zone: str
    """Where managers always are: a disk is in one zone, and so is its pod."""
    after: Sequence[pulumi.Resource]
    """Nodes: the driver's controller is a pod."""
    tags: Mapping[str, str]


class BlockStorage(pulumi.ComponentResource):
    """An encrypted disk, and the EBS driver with the right to attach disks with the stack's tags to
    nodes of this cluster.

    The stack makes the disk, not the driver: a driver deletes a disk some time after its claim, and
    a destroy takes the driver away in that very moment, so that the disk would stay for ever. There
    is no storage class for the same reason, and since nothing counts what one would make.
    """

    disk: Disk

    def __init__(
        self, name: str, args: BlockStorageArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:BlockStorage", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        statements = block_storage_rights.driver_statements(
            cluster_name=args.cluster.name, cluster_arn=args.cluster.arn, tags=args.tags
        )
        driver = AddOn(
            f"{name}-driver",
            AddOnArgs(
                addon="aws-ebs-csi-driver",
                version=args.driver_version,
                cluster=args.cluster,
                configuration=DRIVER_SETTINGS,
                rights={block_storage_rights.CONTROLLER_ACCOUNT: Rights(statements=statements)},
                after=args.after,
                tags=args.tags,
            ),
            child,
        ).addon
        volume = aws.ebs.Volume(
            f"{name}-disk",
            availability_zone=args.zone,
            type="gp3",
            size=args.size_gib,
            encrypted=True,
            tags={**args.tags, "Name": f"{args.tags['stack']}-metrics"},
            opts=child,
        )
        self.disk = Disk(
            source=CsiVolume(driver=DRIVER, handle=volume.id, fs_type="ext4"),
            zone=args.zone,
            size_gib=args.size_gib,
            ready=(driver,),
        )
        self.register_outputs({})
