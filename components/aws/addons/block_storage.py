"""Disks of their own for pods that need one: EBS, its driver, and a storage class."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components.aws.addons import block_storage_rights
from components.aws.addons.addon import AddOn, AddOnArgs, Rights
from components.aws.reference import ClusterReference

DRIVER = "ebs.csi.aws.com"
DRIVER_SETTINGS = {"node": {"tolerateAllTaints": True}}
"""Keys: charts/aws-ebs-csi-driver/values.schema.json. Replicas, their spread over nodes and their
disruption budget are the driver's defaults."""


@dataclass(frozen=True, kw_only=True)
class BlockStorageArgs:
    cluster: ClusterReference
    driver_version: str | None
    """None: EKS picks its default."""
    after: Sequence[pulumi.Resource]
    """Nodes: the driver's controller is a pod."""
    tags: Mapping[str, str]


class BlockStorage(pulumi.ComponentResource):
    """The EBS driver, with rights to disks that carry the stack's tags and to no other, and the
    class that gives a disk these tags."""

    storage_class: str = "gp3"
    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: BlockStorageArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:BlockStorage", name, {}, opts)
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
            pulumi.ResourceOptions(parent=self),
        ).addon
        disks = k8s.storage.v1.StorageClass(
            f"{name}-class",
            metadata=k8s.meta.v1.ObjectMetaArgs(name=self.storage_class),
            provisioner=DRIVER,
            parameters={"type": "gp3", "encrypted": "true", **tag_parameters(args.tags)},
            volume_binding_mode="WaitForFirstConsumer",  # a disk is in one zone: that of its pod
            allow_volume_expansion=True,
            reclaim_policy="Delete",
            opts=pulumi.ResourceOptions(parent=self, provider=args.cluster.kubernetes),
        )
        self.ready = (driver, disks)
        self.register_outputs({})


def tag_parameters(tags: Mapping[str, str]) -> dict[str, str]:
    """Tags as the driver reads them from a storage class."""
    ordered = sorted(tags.items())
    return {f"tagSpecification_{i}": f"{k}={v}" for i, (k, v) in enumerate(ordered, start=1)}
