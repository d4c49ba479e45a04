"""A bucket for data sets and checkpoints."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws.storage import bucket_rights

UPLOAD_DAYS = 7
"""After which the parts of an upload that nobody ended are removed; they are billed unseen."""
UNDO_DAYS = 7
"""How long what was deleted or overwritten can be had back. Every checkpoint that a job replaced is
billed for as long: 1 GB every ten minutes for a month would be 4 TB, for a week it is 1."""


@dataclass(frozen=True, kw_only=True)
class BucketArgs:
    retain: bool
    """Whether the bucket outlives the stack. If not, it is deleted with it, and EVERY OBJECT in it:
    a bucket that is not empty would otherwise stop the destroy."""
    tags: Mapping[str, str]


class Bucket(pulumi.ComponentResource):
    """A private, versioned bucket that answers over TLS only, encrypted with S3's own key: it costs
    nothing, where a key of ours would be asked, and billed, with the reads of millions of files.

    What guards it is retained with it: the data is no less worth guarding without the stack.
    """

    bucket_name: pulumi.Output[str]
    arn: pulumi.Output[str]
    ready: tuple[pulumi.Resource, ...]
    """What is written once these exist is versioned and guarded."""

    def __init__(
        self, name: str, args: BucketArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:Bucket", name, {}, opts)
        self._name = name
        self._kept = pulumi.ResourceOptions(parent=self, retain_on_delete=args.retain)
        bucket = aws.s3.Bucket(
            f"{name}-objects",
            force_destroy=not args.retain,
            tags=dict(args.tags),
            opts=self._kept,
        )
        self.bucket_name, self.arn = bucket.bucket, bucket.arn
        self.ready = (*self._guards(), *self._history())
        self.register_outputs({"bucket_name": self.bucket_name, "arn": self.arn})

    def _guards(self) -> list[pulumi.Resource]:
        private = aws.s3.BucketPublicAccessBlock(
            f"{self._name}-private",
            bucket=self.bucket_name,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=self._kept,
        )
        owner = aws.s3.BucketOwnershipControls(
            f"{self._name}-owner",
            bucket=self.bucket_name,
            rule=aws.s3.BucketOwnershipControlsRuleArgs(object_ownership="BucketOwnerEnforced"),
            opts=self._kept,
        )
        algorithm = (
            aws.s3.BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefaultArgs
        )
        encrypted = aws.s3.BucketServerSideEncryptionConfiguration(
            f"{self._name}-encrypted",
            bucket=self.bucket_name,
            rules=[
                aws.s3.BucketServerSideEncryptionConfigurationRuleArgs(
                    apply_server_side_encryption_by_default=algorithm(sse_algorithm="AES256")
                )
            ],
            opts=self._kept,
        )
        policy = aws.s3.BucketPolicy(
            f"{self._name}-encrypted-in-transit",
            bucket=self.bucket_name,
            policy=bucket_rights.bucket_policy(self.arn),
            opts=self._kept,
        )
        return [private, owner, encrypted, policy]

    def _history(self) -> list[pulumi.Resource]:
        versioned = aws.s3.BucketVersioning(
            f"{self._name}-versioned",
            bucket=self.bucket_name,
            versioning_configuration=aws.s3.BucketVersioningVersioningConfigurationArgs(
                status="Enabled"
            ),
            opts=self._kept,
        )
        rule = aws.s3.BucketLifecycleConfigurationRuleArgs(
            id="tidy",
            status="Enabled",
            filter=aws.s3.BucketLifecycleConfigurationRuleFilterArgs(prefix=""),
            abort_incomplete_multipart_upload=(
                aws.s3.BucketLifecycleConfigurationRuleAbortIncompleteMultipartUploadArgs(
                    days_after_initiation=UPLOAD_DAYS
                )
            ),
            noncurrent_version_expiration=(
                aws.s3.BucketLifecycleConfigurationRuleNoncurrentVersionExpirationArgs(
                    noncurrent_days=UNDO_DAYS
                )
            ),
            # The marks of what was deleted slow listings down.
            expiration=aws.s3.BucketLifecycleConfigurationRuleExpirationArgs(
                expired_object_delete_marker=True
            ),
        )
        tidy = aws.s3.BucketLifecycleConfiguration(
            f"{self._name}-tidy",
            bucket=self.bucket_name,
            rules=[rule],
            opts=pulumi.ResourceOptions.merge(
                # S3 takes a rule about old versions only where there are versions.
                self._kept,
                pulumi.ResourceOptions(depends_on=[versioned]),
            ),
        )
        return [versioned, tidy]
