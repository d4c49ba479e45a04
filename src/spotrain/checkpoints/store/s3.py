"""A part of an S3 bucket, or of any store that speaks S3 and honours `If-None-Match`.

S3 has no rename and no append. Large files go up in parts that become visible at once when the
last one is there; a name is taken by a conditional PUT, of which S3 lets exactly one succeed.
"""

import contextlib
from collections import deque
from collections.abc import Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, Final

import boto3  # type: ignore[import-untyped]
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

from spotrain.checkpoints.store.store import CHUNK, Sink, read

SCHEME: Final = "s3://"
PART: Final = 32 << 20
"""Bytes of one part. S3 takes 10,000 parts a file, so a rank may write 320 GB."""
UPLOADS: Final = 4
"""Parts on their way at once: one connection alone gets a fraction of a node's network."""
PATIENCE: Final = Config(
    connect_timeout=10,
    read_timeout=60,
    max_pool_connections=2 * UPLOADS,
    retries={"mode": "standard", "total_max_attempts": 6},
)
MISSING: Final = {"404", "NoSuchKey", "NotFound"}
TAKEN: Final = {"412", "PreconditionFailed"}


class Bucket:
    """A store (see `Store`) at s3://bucket/prefix, with the identity and region of this machine."""

    def __init__(self, place: str, client: Any = None) -> None:
        bucket, _, prefix = place.removeprefix(SCHEME).partition("/")
        if not bucket or not place.startswith(SCHEME):
            raise ValueError(
                f"{place!r} names no bucket: give s3://<bucket>/<prefix>, such as "
                "s3://my-team/output/run1"
            )
        self._bucket = bucket
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._s3 = client or boto3.client("s3", config=PATIENCE)

    def __str__(self) -> str:
        return f"{SCHEME}{self._bucket}/{self._prefix}".rstrip("/")

    def files(self, folder: str = "") -> list[str]:
        below = f"{folder}/" if folder else ""
        return [
            entry["Key"].removeprefix(self._prefix)
            for page in self._list(below, Delimiter="/")
            for entry in page.get("Contents", [])
        ]

    def folders(self) -> list[str]:
        return [
            entry["Prefix"].removeprefix(self._prefix).rstrip("/")
            for page in self._list("", Delimiter="/")
            for entry in page.get("CommonPrefixes", [])
        ]

    def age_seconds(self, folder: str) -> float:
        entries = [e for page in self._list(f"{folder}/") for e in page.get("Contents", [])]
        if not entries:
            raise FileNotFoundError(f"{self}/{folder} is gone")
        newest: datetime = max(entry["LastModified"] for entry in entries)
        return (datetime.now(UTC) - newest).total_seconds()

    def size(self, name: str) -> int:
        return int(self._head(name)["ContentLength"])

    def identity(self, name: str) -> Hashable:
        head = self._head(name)
        return name, head["ETag"], head["ContentLength"]

    def chunks(self, name: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        if length == 0:
            return
        last = "" if length is None else start + length - 1
        options = {"Range": f"bytes={start}-{last}"} if start or length is not None else {}
        with self._errors(name):
            body = self._s3.get_object(Bucket=self._bucket, Key=self._key(name), **options)["Body"]
            yield from body.iter_chunks(CHUNK)

    @contextlib.contextmanager
    def write(self, name: str) -> Iterator[Sink]:
        with self._errors(name):
            upload = _Upload(self._s3, self._bucket, self._key(name))
            try:
                yield upload.add
                upload.complete()
            except BaseException:
                upload.abort()
                raise

    def publish(self, name: str, target: str) -> None:
        data = read(self, name)
        try:
            with self._errors(target):
                self._s3.put_object(
                    Bucket=self._bucket, Key=self._key(target), Body=data, IfNoneMatch="*"
                )
        except FileExistsError:
            # A request whose answer got lost is sent again, and then finds what it did itself.
            if read(self, target) != data:
                raise

    def move(self, name: str, target: str) -> None:
        source = {"Bucket": self._bucket, "Key": self._key(name)}
        with self._errors(name):
            self._s3.copy_object(Bucket=self._bucket, Key=self._key(target), CopySource=source)
            self._s3.delete_object(**source)

    def remove(self, folder: str) -> None:
        """What cannot be removed now is found again later: nothing names it."""
        with contextlib.suppress(OSError), self._errors(folder):
            for page in self._list(f"{folder}/"):
                keys = [{"Key": entry["Key"]} for entry in page.get("Contents", [])]
                if keys:
                    self._s3.delete_objects(Bucket=self._bucket, Delete={"Objects": keys})

    def _key(self, name: str) -> str:
        return self._prefix + name

    def _head(self, name: str) -> dict[str, Any]:
        with self._errors(name):
            head: dict[str, Any] = self._s3.head_object(Bucket=self._bucket, Key=self._key(name))
            return head

    def _list(self, below: str, **options: Any) -> Iterator[dict[str, Any]]:
        pages = self._s3.get_paginator("list_objects_v2")
        with self._errors(below):
            yield from pages.paginate(Bucket=self._bucket, Prefix=self._key(below), **options)

    @contextlib.contextmanager
    def _errors(self, name: str) -> Iterator[None]:
        """S3's errors as the OSErrors that every store raises."""
        try:
            yield
        except ClientError as error:
            code = error.response["Error"]["Code"]
            message = f"{self}/{name}: {code}: {error.response['Error'].get('Message', '')}"
            kind = FileNotFoundError if code in MISSING else OSError
            raise (FileExistsError if code in TAKEN else kind)(message) from error
        except BotoCoreError as error:
            raise OSError(f"{self}/{name}: {error}") from error


class _Upload:
    """A file on its way up: at once if it is small, otherwise in parts, some of them in parallel.

    Memory: `UPLOADS` + 1 parts of 32 MiB.
    """

    def __init__(self, s3: Any, bucket: str, key: str) -> None:
        self._s3 = s3
        self._place = {"Bucket": bucket, "Key": key}
        self._buffer = bytearray()
        self._id: str | None = None
        self._parts: list[dict[str, Any]] = []
        self._under_way: deque[Future[dict[str, Any]]] = deque()
        self._threads = ThreadPoolExecutor(UPLOADS, thread_name_prefix="upload")

    def add(self, data: memoryview) -> None:
        self._buffer += data
        if len(self._buffer) >= PART:
            self._send_part()

    def complete(self) -> None:
        if self._id is None:
            self._s3.put_object(**self._place, Body=bytes(self._buffer))
        else:
            if self._buffer:
                self._send_part()
            while self._under_way:
                self._parts.append(self._under_way.popleft().result())
            self._s3.complete_multipart_upload(
                **self._place, UploadId=self._id, MultipartUpload={"Parts": self._parts}
            )
        self._threads.shutdown()

    def abort(self) -> None:
        """Parts that nobody completes would be kept, and paid for, without being seen."""
        self._threads.shutdown(cancel_futures=True)
        if self._id is not None:
            with contextlib.suppress(BotoCoreError, ClientError):
                self._s3.abort_multipart_upload(**self._place, UploadId=self._id)

    def _send_part(self) -> None:
        if self._id is None:
            self._id = self._s3.create_multipart_upload(**self._place)["UploadId"]
        if len(self._under_way) == UPLOADS:
            self._parts.append(self._under_way.popleft().result())
        number = len(self._parts) + len(self._under_way) + 1
        data, self._buffer = bytes(self._buffer), bytearray()
        self._under_way.append(self._threads.submit(self._put_part, number, data))

    def _put_part(self, number: int, data: bytes) -> dict[str, Any]:
        done = self._s3.upload_part(**self._place, UploadId=self._id, PartNumber=number, Body=data)
        kept = {name: done[name] for name in done if name == "ETag" or name.startswith("Checksum")}
        return {"PartNumber": number, **{k: v for k, v in kept.items() if k != "ChecksumType"}}
