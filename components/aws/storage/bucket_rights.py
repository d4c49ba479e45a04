"""Who may use the bucket, and how; data only."""

from typing import Any

import pulumi

from components.aws import policies
from spotrain import contract


def bucket_policy(bucket: pulumi.Input[str]) -> pulumi.Output[str]:
    """Nobody in the clear, whatever else they may. Takes the bucket's ARN."""
    statement = {
        "Effect": "Deny",
        "Principal": {"AWS": "*"},
        "Action": ["s3:*"],
        "Resource": [bucket, pulumi.Output.concat(bucket, "/*")],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    return policies.document([statement])


def job(bucket: pulumi.Input[str]) -> list[dict[str, Any]]:
    """What jobs may do at S3 itself: read everything, write output. Takes the bucket's ARN."""
    return [
        policies.allow(["s3:ListBucket"], [bucket]),
        policies.allow(["s3:GetObject"], [pulumi.Output.concat(bucket, "/*")]),
        policies.allow(
            ["s3:PutObject", "s3:AbortMultipartUpload", "s3:DeleteObject"],
            [pulumi.Output.concat(bucket, f"/{contract.OUTPUT_DIR}/*")],
        ),
    ]


def reader_and_writer(bucket: pulumi.Input[str]) -> list[dict[str, Any]]:
    """What Mountpoint asks for to list, read, write and delete in one bucket, by its ARN."""
    return [
        policies.allow(["s3:ListBucket"], [bucket]),
        policies.allow(
            ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload", "s3:DeleteObject"],
            [pulumi.Output.concat(bucket, "/*")],
        ),
    ]
