"""A bucket of S3, or of any store that speaks S3 and honours `If-None-Match`."""

import contextlib
from collections.abc import Collection, Iterator
from typing import Any, Final

import boto3  # type: ignore[import-untyped]
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

from spotrain.checkpoints.store.objects import CONNECT_SECONDS, READ_SECONDS, Entry, Level
from spotrain.checkpoints.store.store import CHUNK

LANES: Final = 4
"""One connection alone gets a fraction of a node's network. S3 takes 10,000 parts an object, so a
rank may write 320 GB."""
PATIENCE: Final = Config(
    connect_timeout=CONNECT_SECONDS,
    read_timeout=READ_SECONDS,
    max_pool_connections=2 * LANES,
    retries={"mode": "standard", "total_max_attempts": 6},
)
PART: Final = 32 << 20
AT_ONCE: Final = 1000
"""Objects that one request may delete."""
MISSING: Final = {"404", "NoSuchKey", "NotFound"}
TAKEN: Final = {"412", "PreconditionFailed"}


class S3Objects:
    """See `Objects`; with the identity and region of this machine."""

    lanes = LANES
    part = PART

    def __init__(self, bucket: str, client: Any = None) -> None:
        self._bucket = bucket
        with self.errors(f"s3://{bucket}", missing=OSError):
            self._s3 = client or boto3.client("s3", config=PATIENCE)

    @contextlib.contextmanager
    def errors(self, where: str, *, missing: type[OSError]) -> Iterator[None]:
        try:
            yield
        except ClientError as error:
            code = error.response["Error"]["Code"]
            message = f"{where}: {code}: {error.response['Error'].get('Message', '')}"
            kind = missing if code in MISSING else OSError
            raise (FileExistsError if code in TAKEN else kind)(message) from error
        except BotoCoreError as error:
            raise OSError(f"{where}: {error}") from error

    def entries(self, prefix: str) -> Iterator[Entry]:
        for page in self._pages(prefix):
            for found in page.get("Contents", []):
                yield _entry(found["Key"], found["Size"], found)

    def level(self, prefix: str) -> Level:
        level = Level(keys=[], prefixes=[])
        for page in self._pages(prefix, Delimiter="/"):
            level.keys.extend(found["Key"] for found in page.get("Contents", []))
            level.prefixes.extend(found["Prefix"] for found in page.get("CommonPrefixes", []))
        return level

    def entry(self, key: str) -> Entry:
        head = self._s3.head_object(Bucket=self._bucket, Key=key)
        return _entry(key, head["ContentLength"], head)

    def chunks(self, key: str, start: int, length: int | None) -> Iterator[bytes]:
        last = "" if length is None else start + length - 1
        options = {"Range": f"bytes={start}-{last}"} if start or length is not None else {}
        body = self._s3.get_object(Bucket=self._bucket, Key=key, **options)["Body"]
        yield from body.iter_chunks(CHUNK)

    def put(self, key: str, data: bytes, *, only_new: bool = False) -> None:
        condition = {"IfNoneMatch": "*"} if only_new else {}
        self._s3.put_object(Bucket=self._bucket, Key=key, Body=data, **condition)

    def put_parts(self, key: str, size: int) -> "S3Parts":
        return S3Parts(self._s3, self._bucket, key)

    def copy(self, key: str, target: str) -> None:
        source = {"Bucket": self._bucket, "Key": key}
        self._s3.copy_object(Bucket=self._bucket, Key=target, CopySource=source)

    def delete(self, keys: Collection[str]) -> None:
        """One by the request that every store that speaks S3 has."""
        if len(keys) == 1:
            self._s3.delete_object(Bucket=self._bucket, Key=next(iter(keys)))
            return
        every = [{"Key": key} for key in keys]
        failed: list[ClientError] = []
        for first in range(0, len(every), AT_ONCE):
            some = every[first : first + AT_ONCE]
            try:
                done = self._s3.delete_objects(Bucket=self._bucket, Delete={"Objects": some})
            except ClientError as error:  # those behind them may go all the same
                failed.append(error)
                continue
            # The answer is a success as a whole.
            failed += [ClientError({"Error": x}, "DeleteObjects") for x in done.get("Errors", [])]
        if failed:
            raise failed[0]

    def _pages(self, prefix: str, **options: Any) -> Iterator[dict[str, Any]]:
        pages = self._s3.get_paginator("list_objects_v2")
        yield from pages.paginate(Bucket=self._bucket, Prefix=prefix, **options)


class S3Parts:
    """A multipart upload."""

    def __init__(self, s3: Any, bucket: str, key: str) -> None:
        self._s3 = s3
        self._place = {"Bucket": bucket, "Key": key}
        self._id: str = s3.create_multipart_upload(**self._place)["UploadId"]
        self._sent: dict[int, dict[str, Any]] = {}

    def send(self, number: int, data: bytes) -> None:
        """S3 refuses a part that is not what boto3's checksum says."""
        done = self._s3.upload_part(**self._place, UploadId=self._id, PartNumber=number, Body=data)
        checks = {name: done[name] for name in done if name.startswith("Checksum")}
        checks.pop("ChecksumType", None)
        self._sent[number] = {"PartNumber": number, "ETag": done["ETag"], **checks}

    def complete(self) -> None:
        parts = [self._sent[number] for number in sorted(self._sent)]
        self._s3.complete_multipart_upload(
            **self._place, UploadId=self._id, MultipartUpload={"Parts": parts}
        )

    def abort(self) -> None:
        """Parts that nobody completes would be kept, and paid for, without being seen."""
        self._s3.abort_multipart_upload(**self._place, UploadId=self._id)


def _entry(key: str, size: int, found: dict[str, Any]) -> Entry:
    return Entry(key, int(size), version=found["ETag"], written=found["LastModified"])
