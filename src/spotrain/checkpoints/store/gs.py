"""A bucket of Google Cloud Storage."""

import contextlib
import os
from collections.abc import Collection, Iterator
from typing import Any, Final

from google.api_core.exceptions import (
    GoogleAPICallError,
    GoogleAPIError,
    NotFound,
    RequestRangeNotSatisfiable,
)
from google.auth.exceptions import GoogleAuthError
from google.cloud import storage  # type: ignore[import-untyped]
from google.cloud.storage.exceptions import (  # type: ignore[import-untyped]
    DataCorruption,
    InvalidResponse,
)
from google.cloud.storage.fileio import BlobWriter  # type: ignore[import-untyped]
from google.cloud.storage.retry import DEFAULT_RETRY  # type: ignore[import-untyped]

from spotrain.checkpoints.store.objects import CONNECT_SECONDS, READ_SECONDS, Entry, Level
from spotrain.checkpoints.store.store import CHUNK

LIMITS: Final[dict[str, Any]] = {
    "timeout": (CONNECT_SECONDS, READ_SECONDS),
    # All that is written here may be written twice: the names are ours alone, or given once.
    "retry": DEFAULT_RETRY.with_timeout(120),
}
CHECKED: Final[dict[str, Any]] = {**LIMITS, "checksum": "crc32c"}
RANGE: Final = 32 << 20
"""Bytes that are asked for at a time: the library has no stream that waits for who reads it."""
TYPE: Final = "application/octet-stream"
FIELDS: Final = "items(name,size,generation,updated),prefixes,nextPageToken"
MISSING, TAKEN = 404, 412

# Unasked, the client reads the bucket's own metadata in a thread, for traces that nobody makes;
# jobs may not.
os.environ.setdefault("DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA", "true")


class GsObjects:
    """See `Objects`; with the identity of this machine."""

    lanes = 1
    """The parts of a resumable upload go up in their order."""

    def __init__(self, bucket: str, client: Any = None) -> None:
        with self.errors(f"gs://{bucket}", missing=OSError):
            # No bucket is made, so no project is asked for.
            self._client = client or storage.Client(project=None)
        self._bucket = self._client.bucket(bucket)

    @contextlib.contextmanager
    def errors(self, where: str, *, missing: type[OSError]) -> Iterator[None]:
        try:
            yield
        except (GoogleAPICallError, InvalidResponse) as error:
            code = getattr(error, "code", None) or error.response.status_code
            kind = {MISSING: missing, TAKEN: FileExistsError}.get(code, OSError)
            raise kind(f"{where}: {code}: {_reason(error)}") from error
        except (DataCorruption, GoogleAPIError, GoogleAuthError) as error:
            raise OSError(f"{where}: {error}") from error

    def entries(self, prefix: str) -> Iterator[Entry]:
        for blob in self._list(prefix):
            yield _entry(blob)

    def level(self, prefix: str) -> Level:
        found = self._list(prefix, delimiter="/")
        keys = [blob.name for blob in found]
        return Level(keys, prefixes=list(found.prefixes))  # complete after the last page

    def entry(self, key: str) -> Entry:
        blob = self._bucket.blob(key)
        blob.reload(**LIMITS)
        return _entry(blob)

    def chunks(self, key: str, start: int, length: int | None) -> Iterator[bytes]:
        blob, end = self._bucket.blob(key), None if length is None else start + length
        while end is None or start < end:
            last = min(start + RANGE, end or start + RANGE) - 1
            try:
                part = blob.download_as_bytes(
                    start=start, end=last, raw_download=True, checksum=None, **LIMITS
                )
            except RequestRangeNotSatisfiable:
                return  # begins at the end, as any part of an empty file does
            for first in range(0, len(part), CHUNK):
                yield part[first : first + CHUNK]
            if len(part) <= last - start:
                return
            start = last + 1

    def put(self, key: str, data: bytes, *, only_new: bool = False) -> None:
        blob = self._bucket.blob(key)
        # Generation 0 is that of an object that is not there.
        condition = {"if_generation_match": 0} if only_new else {}
        blob.upload_from_string(data, content_type=TYPE, **CHECKED, **condition)

    def put_parts(self, key: str, size: int) -> "GsParts":
        return GsParts(self._bucket.blob(key), size)

    def copy(self, key: str, target: str) -> None:
        self._bucket.copy_blob(self._bucket.blob(key), self._bucket, target, **LIMITS)

    def delete(self, keys: Collection[str]) -> None:
        for key in keys:
            with contextlib.suppress(NotFound):
                self._bucket.delete_blob(key, **LIMITS)

    def _list(self, prefix: str, **options: Any) -> Any:
        return self._client.list_blobs(
            self._bucket, prefix=prefix, fields=FIELDS, **LIMITS, **options
        )


class GsParts:
    """A resumable upload: one stream, whose checksum is compared when it is complete.

    Google keeps and bills nothing of one that is given up, and forgets it within a week.
    """

    def __init__(self, blob: Any, size: int) -> None:
        self._blob = blob
        self._writer = _Writer(blob, chunk_size=size, content_type=TYPE, **CHECKED)

    def send(self, number: int, data: bytes) -> None:
        try:
            self._writer.write(data)
        except ValueError as error:
            # The library cannot go on where Google kept a part of a part.
            raise OSError(f"part {number} did not arrive whole: {error}") from error

    def complete(self) -> None:
        try:
            self._writer.close()
        except DataCorruption:
            self._blob.delete(**LIMITS)
            raise

    def abort(self) -> None:
        self._writer.terminate()


class _Writer(BlobWriter):  # type: ignore[misc]
    """Python closes a file that nobody uses any more, and to close this one is to complete it:
    where no word gets through that an upload is given up, a truncated file would be there."""

    def __del__(self) -> None: ...


def _entry(blob: Any) -> Entry:
    return Entry(blob.name, int(blob.size), version=blob.generation, written=blob.updated)


def _reason(error: Any) -> str:
    """What Google said, without the request that it said it to."""
    if error.response is None:
        return str(error)
    try:
        return str(error.response.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return str(error.response.text.strip()[:500] or error.response.reason)
