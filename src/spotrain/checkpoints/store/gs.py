"""A bucket of Google Cloud Storage."""

import contextlib
import io
import os
import time
from collections.abc import Collection, Iterator
from typing import Any, Final

from google.api_core.exceptions import (
    GoogleAPICallError,
    GoogleAPIError,
    NotFound,
    RequestRangeNotSatisfiable,
    RetryError,
)
from google.auth.exceptions import GoogleAuthError
from google.cloud import storage  # type: ignore[import-untyped]
from google.cloud.storage.exceptions import (  # type: ignore[import-untyped]
    DataCorruption,
    InvalidResponse,
)
from google.cloud.storage.fileio import SlidingBuffer  # type: ignore[import-untyped]
from google.cloud.storage.retry import DEFAULT_RETRY  # type: ignore[import-untyped]
from requests import PreparedRequest, RequestException, Response
from requests.adapters import HTTPAdapter

from spotrain.checkpoints.store.objects import CONNECT_SECONDS, READ_SECONDS, Entry, Level
from spotrain.checkpoints.store.store import CHUNK

RETRY_SECONDS: Final = 120
LIMITS: Final[dict[str, Any]] = {
    "timeout": (CONNECT_SECONDS, READ_SECONDS),
    # All that is written here may be written twice: the names are ours alone, or given once.
    "retry": DEFAULT_RETRY.with_timeout(RETRY_SECONDS),
}
CHECKSUM: Final = "crc32c"
PART: Final = 8 << 20
"""What does not arrive is sent anew from its start, and the library holds each part three times.
Of what is no larger than this it makes one request itself."""
RANGE: Final = 32 << 20
"""Bytes that are asked for at a time: the library has no stream that waits for who reads it."""
TYPE: Final = "application/octet-stream"
FIELDS: Final = "items(name,size,generation,updated),prefixes,nextPageToken"
MISSING, TAKEN, INCOMPLETE = 404, 412, 308
STALLS: Final = 5
"""Requests in a row of which Google may keep nothing, until an upload has failed."""
IDENTITY_SECONDS: Final = 30.0
"""The metadata server of GKE, which has a pod's identity, may start to answer after the pod."""

# Else the library asks for the bucket itself, in a thread and for traces that nobody takes; jobs
# have no right to, and each refusal is an entry in the project's audit log.
os.environ.setdefault("DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA", "true")


class GsObjects:
    """See `Objects`; with the identity of this machine."""

    lanes = 1
    """The parts of a resumable upload go up in their order."""
    part = PART

    def __init__(self, bucket: str, client: Any = None) -> None:
        with self.errors(f"gs://{bucket}", missing=OSError):
            self._client = client or _client()
        for scheme in ("https://", "http://"):
            self._client._http.mount(scheme, _Piecewise())
        self._bucket = self._client.bucket(bucket)

    @contextlib.contextmanager
    def errors(self, where: str, *, missing: type[OSError]) -> Iterator[None]:
        try:
            yield
        except (GoogleAPICallError, InvalidResponse) as error:
            kind = {MISSING: missing, TAKEN: FileExistsError}.get(_code(error), OSError)
            # Not "from error", here and below: that would print the request, see _reason.
            raise kind(f"{where}: {_reason(error)}") from None
        except (DataCorruption, GoogleAPIError, GoogleAuthError, RequestException) as error:
            raise OSError(f"{where}: {_reason(error)}") from None

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
        blob.upload_from_string(data, content_type=TYPE, checksum=CHECKSUM, **LIMITS, **condition)

    def put_parts(self, key: str, size: int) -> "GsParts":
        return GsParts(self._client, self._bucket.blob(key), size)

    def copy(self, key: str, target: str) -> None:
        self._bucket.copy_blob(self._bucket.blob(key), self._bucket, target, **LIMITS)

    def delete(self, keys: Collection[str]) -> None:
        first: GoogleAPICallError | None = None
        for key in keys:
            try:
                with contextlib.suppress(NotFound):
                    self._bucket.delete_blob(key, **LIMITS)
            except GoogleAPICallError as error:  # one that is denied keeps none behind it
                first = first or error
        if first:
            raise first

    def _list(self, prefix: str, **options: Any) -> Any:
        return self._client.list_blobs(
            self._bucket, prefix=prefix, fields=FIELDS, **LIMITS, **options
        )


class GsParts:
    """A resumable upload: one stream, whose checksum is compared when it is complete.

    Not the library's own file over it (`Blob.open`): that cannot go on where Google kept less of a
    chunk than was sent, gives up at an address that is not the upload's, and when Python forgets it
    completes what is there by then, a truncated file.

    Google keeps and bills nothing of one that is given up, and forgets it within a week.
    """

    def __init__(self, client: Any, blob: Any, size: int) -> None:
        self._blob, self._size = blob, size
        self._buffer = SlidingBuffer()  # what Google has not said that it has
        self._upload, self._transport = blob._initiate_resumable_upload(
            client, self._buffer, TYPE, None, chunk_size=size, checksum=CHECKSUM, **LIMITS
        )

    def send(self, number: int, data: bytes) -> None:
        self._buffer.write(data)
        while len(self._buffer) >= self._size:
            self._advance()

    def complete(self) -> None:
        """What is less than a chunk is the end of the object."""
        try:
            while not self._upload.finished:
                self._advance()
        except DataCorruption:
            self._blob.delete(**LIMITS)
            raise

    def abort(self) -> None:
        """Once, whatever the answer: that week is what it saves."""
        self._transport.delete(self._upload.resumable_url, timeout=LIMITS["timeout"])

    def _advance(self) -> None:
        for _ in range(STALLS):
            before = self._upload.bytes_uploaded
            self._transmit()
            if self._upload.finished or self._upload.bytes_uploaded > before:
                return
        raise OSError(
            f"{self._place}: {STALLS} requests in a row brought Google nothing beyond byte "
            f"{self._upload.bytes_uploaded}"
        )

    def _transmit(self) -> None:
        """One chunk. What Google does not keep of it stays, and goes with the next."""
        try:
            try:
                self._upload.transmit_next_chunk(self._transport, timeout=LIMITS["timeout"])
            except InvalidResponse as error:
                if _code(error) != INCOMPLETE:
                    raise
                self._upload.recover(self._transport)  # it did not say how much it has
            if not self._upload.finished:
                self._buffer.seek(self._upload.bytes_uploaded)
                self._buffer.flush()
        except ValueError as error:
            raise OSError(
                f"{self._place}: Google says that it has {self._upload.bytes_uploaded} bytes, from "
                f"where the upload cannot go on: {error}"
            ) from error

    @property
    def _place(self) -> str:
        return f"gs://{self._blob.bucket.name}/{self._blob.name}"


class _Piecewise(HTTPAdapter):
    """Has the limits of a socket count for each piece of a body: given bytes, it would have to send
    all of them within the time that it has to connect."""

    def send(self, request: PreparedRequest, *args: Any, **options: Any) -> Response:
        if isinstance(request.body, bytes) and request.body:
            request.body = io.BytesIO(request.body)
        return super().send(request, *args, **options)


def _client() -> Any:
    """With the identity of this machine; in a pod, once it is there."""
    # Unasked, the client reads the bucket's own metadata in a thread, for traces that nobody makes;
    # jobs may not. It can be told by the environment only.
    os.environ.setdefault("DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA", "true")
    in_pod = "KUBERNETES_SERVICE_HOST" in os.environ
    end = time.monotonic() + (IDENTITY_SECONDS if in_pod else 0)
    while True:
        try:
            return storage.Client(project=None)  # no bucket is made, so no project is asked for
        except GoogleAuthError:
            if time.monotonic() >= end:
                raise
            time.sleep(1)


def _entry(blob: Any) -> Entry:
    return Entry(blob.name, int(blob.size), version=blob.generation, written=blob.updated)


def _code(error: Any) -> int:
    return int(getattr(error, "code", None) or error.response.status_code)


def _reason(error: Any) -> str:
    """What Google said, or what kept it from saying anything. Not the request: whoever has the
    address of an upload may write to it for a week, without any credentials."""
    if isinstance(error, RetryError):
        return f"tried for {RETRY_SECONDS} s, at last {_reason(error.cause)}"
    if isinstance(error, GoogleAPICallError | InvalidResponse):
        return f"{_code(error)}: {_message(error.response) or error}"
    if isinstance(error, RequestException):
        return f"{type(error).__name__}: {_root(error)}"
    return str(error)


def _message(response: Any) -> str:
    if response is None:
        return ""
    try:
        return str(response.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return str(response.text.strip()[:500] or response.reason)


def _root(error: BaseException) -> str:
    """The innermost error is the socket's, which knows no address of HTTP."""
    while error.__context__ is not None:
        error = error.__context__
    return "" if isinstance(error, RequestException) else str(error)
