"""A bucket as jobs use it: a folder, by Cloud Storage FUSE, and without it as gs://."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp

from components.cloud import CsiVolume, Volume
from components.gcp.reference import Place
from spotrain import contract

DRIVER = "gcsfuse.csi.storage.gke.io"
JOB_ACCOUNT = "default"
"""That of pods whose template names none, as those of jobs do."""
UPLOAD_DAYS = 7
"""After which the parts of an upload that nobody ended are removed; they are billed unseen. Uploads
of checkpoints are of another kind, of which Google keeps and bills nothing."""
UNDO_DAYS = 7
"""How long what was deleted or overwritten can be had back; it is billed as long."""


@dataclass(frozen=True, kw_only=True)
class BucketShape:
    """What a stack file decides about the bucket."""

    retain: bool
    """Whether it outlives the stack. If not, it is deleted with it, and EVERY OBJECT in it."""
    job_namespace: str
    """Where the pods run that read and write it."""


@dataclass(frozen=True, kw_only=True)
class BucketArgs:
    shape: BucketShape
    place: Place
    after: Sequence[pulumi.Resource]
    """The cluster: with it comes the pool of identities that its pods have."""


class Bucket(pulumi.ComponentResource):
    """A private, versioned bucket, and the rights of jobs in it, by the mount and for checkpoints
    at gs://: to read everything, and to write output. Pods prove who they are by their service
    account; no key is stored."""

    volume: Volume
    name: pulumi.Output[str]
    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: BucketArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:gcp:Bucket", name, {}, opts)
        self._name, self._args = name, args
        bucket = self._bucket()
        self.name = bucket.name
        self.volume = Volume(
            claim=contract.BUCKET_CLAIM, mount=contract.BUCKET_MOUNT, source=_mounted(bucket.name)
        )
        self.ready = self._rights(bucket)
        self.register_outputs({"name": self.name})

    def _bucket(self) -> gcp.storage.Bucket:
        s = gcp.storage
        rules = [
            s.BucketLifecycleRuleArgs(
                action=s.BucketLifecycleRuleActionArgs(type="Delete"),
                condition=s.BucketLifecycleRuleConditionArgs(
                    days_since_noncurrent_time=UNDO_DAYS, with_state="ARCHIVED"
                ),
            ),
            s.BucketLifecycleRuleArgs(
                action=s.BucketLifecycleRuleActionArgs(type="AbortIncompleteMultipartUpload"),
                condition=s.BucketLifecycleRuleConditionArgs(age=UPLOAD_DAYS),
            ),
        ]
        return s.Bucket(
            f"{self._name}-objects",
            location=self._args.place.region,
            force_destroy=not self._args.shape.retain,
            uniform_bucket_level_access=True,
            public_access_prevention="enforced",
            versioning=s.BucketVersioningArgs(enabled=True),
            lifecycle_rules=rules,
            # Versions do the same, and say so.
            soft_delete_policy=s.BucketSoftDeletePolicyArgs(retention_duration_seconds=0),
            opts=pulumi.ResourceOptions(parent=self, retain_on_delete=self._args.shape.retain),
        )

    def _rights(self, bucket: gcp.storage.Bucket) -> tuple[pulumi.Resource, ...]:
        jobs = self._args.place.pod_identity(self._args.shape.job_namespace, JOB_ACCOUNT)
        inside = pulumi.ResourceOptions(parent=self, depends_on=list(self._args.after))
        output = pulumi.Output.concat(
            'resource.name.startsWith("projects/_/buckets/',
            bucket.name,
            f'/objects/{contract.OUTPUT_DIR}/")',
        )
        read = gcp.storage.BucketIAMMember(
            f"{self._name}-read",
            bucket=bucket.name,
            role="roles/storage.objectViewer",
            member=jobs,
            opts=inside,
        )
        write = gcp.storage.BucketIAMMember(
            f"{self._name}-write",
            bucket=bucket.name,
            role="roles/storage.objectUser",
            member=jobs,
            condition=gcp.storage.BucketIAMMemberConditionArgs(
                title="output only", expression=output
            ),
            opts=inside,
        )
        return (read, write)


def _mounted(bucket: pulumi.Input[str]) -> CsiVolume:
    owner = contract.JOB_UID
    return CsiVolume(
        driver=DRIVER,
        handle=bucket,
        mount_options=(
            "implicit-dirs",
            # What another node has just written is there at once.
            "metadata-cache:ttl-secs:0",
            # As on the shared volume, images with other users read and write all the same.
            f"uid={owner}",
            f"gid={owner}",
            "dir-mode=777",
            "file-mode=666",
        ),
    )
