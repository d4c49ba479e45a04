"""A bucket as jobs use it: a folder, by Mountpoint for S3."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components.aws.addons.addon import AddOn, AddOnArgs
from components.aws.pod_role import PodRole, PodRoleArgs
from components.aws.reference import ClusterReference
from components.aws.storage import bucket_rights
from components.aws.storage.bucket import Bucket, BucketArgs
from components.cloud import CsiVolume, Volume
from spotrain import contract

DRIVER = "s3.csi.aws.com"
DRIVER_NAMESPACE, DRIVER_ACCOUNT = "kube-system", "s3-csi-driver-sa"
JOB_ACCOUNT = "default"
"""That of pods whose template names none, as those of jobs do."""
ON_EVERY_NODE = {"node": {"tolerateAllTaints": True}}
"""GPU nodes are tainted."""


@dataclass(frozen=True, kw_only=True)
class BucketShape:
    """What a stack file decides about the bucket."""

    retain: bool
    """Whether it outlives the stack."""
    cache_gib: int
    """How much of what was read a node keeps on its own disk."""
    job_namespace: str
    """Where the pods run that read and write it."""


@dataclass(frozen=True, kw_only=True)
class BucketMountArgs:
    shape: BucketShape
    cluster: ClusterReference
    driver_version: str | None
    after: Sequence[pulumi.Resource]
    """Nodes, and DNS on them: the driver's controller is a pod."""
    tags: Mapping[str, str]


class BucketMount(pulumi.ComponentResource):
    """The bucket, the Mountpoint driver, which may use this bucket and no other, and the volume;
    and the identity by which jobs use it without the driver, as for checkpoints at s3://.

    Files are written once, from start to end, and neither renamed nor linked. Each node keeps what
    it read, and asks S3 at every opening whether it is still so: what another node has just written
    is there at once, and opening many small files costs more than reading them.
    """

    volume: Volume
    outputs: Mapping[str, pulumi.Output[str]]
    """What a person needs to know."""
    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: BucketMountArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:BucketMount", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        bucket = Bucket(
            f"{name}-s3", BucketArgs(retain=args.shape.retain, tags=args.tags), self._child
        )
        driver_identity = self._identity(
            "driver", DRIVER_NAMESPACE, DRIVER_ACCOUNT, bucket_rights.reader_and_writer(bucket.arn)
        )
        job_identity = self._identity(
            "jobs", args.shape.job_namespace, JOB_ACCOUNT, bucket_rights.job(bucket.arn)
        )
        driver = AddOn(
            f"{name}-driver",
            AddOnArgs(
                addon="aws-mountpoint-s3-csi-driver",
                version=args.driver_version,
                cluster=args.cluster,
                configuration=ON_EVERY_NODE,
                # Its identity is made beside it, as EKS refused one of the add-on's own for long. A
                # pod that starts before its identity exists never gets one.
                after=(*args.after, driver_identity),
                tags=args.tags,
            ),
            self._child,
        ).addon
        self.volume = self._volume(bucket)
        self.outputs = {"bucket": bucket.bucket_name}
        self.ready = (*bucket.ready, driver, job_identity)
        self.register_outputs(dict(self.outputs))

    def _identity(
        self, whose: str, namespace: str, account: str, statements: Sequence[Mapping[str, Any]]
    ) -> aws.eks.PodIdentityAssociation:
        args = self._args
        role = PodRole(
            f"{self._name}-{whose}",
            PodRoleArgs(
                cluster_arn=args.cluster.arn,
                namespace=namespace,
                service_account=account,
                statements=statements,
                tags=args.tags,
            ),
            self._child,
        )
        return aws.eks.PodIdentityAssociation(
            f"{self._name}-{whose}",
            cluster_name=args.cluster.name,
            namespace=namespace,
            service_account=account,
            role_arn=role.arn,
            tags=dict(args.tags),
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(role.ready)),
        )

    def _volume(self, bucket: Bucket) -> Volume:
        args, owner = self._args, contract.JOB_UID
        return Volume(
            claim=contract.BUCKET_CLAIM,
            mount=contract.BUCKET_MOUNT,
            source=CsiVolume(
                driver=DRIVER,
                handle=bucket.bucket_name,
                attributes={
                    "bucketName": bucket.bucket_name,
                    "cache": "emptyDir",
                    "cacheEmptyDirSizeLimit": f"{args.shape.cache_gib}Gi",
                },
                mount_options=(
                    # The node's own metadata, where the driver would look, does not answer pods.
                    f"region {args.cluster.region}",
                    "allow-delete",
                    "allow-overwrite",
                    # With a cache the default is a minute in which files of other nodes are old, or
                    # missing: a restart would resume from the wrong checkpoint.
                    "metadata-ttl minimal",
                    # As on the shared volume, images with other users read and write all the same.
                    "allow-other",
                    f"uid={owner}",
                    f"gid={owner}",
                    "dir-mode=0777",
                    "file-mode=0666",
                ),
            ),
        )
