"""Real servers on loopback that speak S3 (moto's) and Cloud Storage (fake-gcs-server): buckets of
theirs as stores."""

import itertools
import logging
import os
import shutil
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar
from urllib.error import URLError
from urllib.request import urlopen

import boto3  # type: ignore[import-untyped]
import pytest
from google.api_core.client_options import ClientOptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage  # type: ignore[import-untyped]
from moto.moto_server.threaded_moto_server import ThreadedMotoServer

from spotrain.checkpoints.store.bucket import Address, Bucket
from spotrain.checkpoints.store.gs import GsObjects
from spotrain.checkpoints.store.objects import Objects
from spotrain.checkpoints.store.s3 import PATIENCE, S3Objects

FAKE_GCS_SERVER = os.environ.get("FAKE_GCS_SERVER") or shutil.which("fake-gcs-server")
STARTS_WITHIN = 60.0

_numbers = itertools.count(1)


class Server(ABC):
    """Somebody's object store, at an address on loopback."""

    scheme: ClassVar[str]

    def __init__(self, address: str) -> None:
        self.address = address
        self.client = self.client_at(address)

    @abstractmethod
    def client_at(self, address: str) -> Any:
        """Its cloud's own client, for a server there."""

    @abstractmethod
    def make_bucket(self, name: str) -> None: ...

    @abstractmethod
    def keys(self, bucket: str, prefix: str = "") -> list[str]: ...

    @abstractmethod
    def upload(self, bucket: str, key: str, data: bytes) -> None:
        """As the cloud's own tools do."""

    @abstractmethod
    def download(self, bucket: str, key: str) -> bytes: ...

    @property
    @abstractmethod
    def environment(self) -> Mapping[str, str]:
        """By which any program on this machine finds it."""

    @abstractmethod
    def objects(self, bucket: str, client: Any) -> Objects: ...

    def store(self, place: str, *, client: Any = None, part: int = 0) -> Bucket:
        address = Address.parse(place)
        return Bucket(address, self.objects(address.bucket, client or self.client), part=part)

    def new_bucket(self) -> str:
        """Its name."""
        name = f"bucket-{next(_numbers)}"
        self.make_bucket(name)
        return name

    def new_place(self) -> str:
        """In a bucket of its own."""
        return f"{self.scheme}://{self.new_bucket()}/run/checkpoints"

    def new_store(self, *, part: int = 0) -> Bucket:
        return self.store(self.new_place(), part=part)


class S3Server(Server):
    scheme = "s3"

    def client_at(self, address: str) -> Any:
        return boto3.client(
            "s3",
            endpoint_url=address,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=PATIENCE,
        )

    def make_bucket(self, name: str) -> None:
        self.client.create_bucket(Bucket=name)

    def keys(self, bucket: str, prefix: str = "") -> list[str]:
        found = self.client.list_objects_v2(Bucket=bucket, Prefix=prefix)
        return [each["Key"] for each in found.get("Contents", [])]

    def unfinished(self, bucket: str) -> list[str]:
        """Keys of uploads that somebody began and would pay for."""
        found = self.client.list_multipart_uploads(Bucket=bucket)
        return [each["Key"] for each in found.get("Uploads", [])]

    def upload(self, bucket: str, key: str, data: bytes) -> None:
        self.client.put_object(Bucket=bucket, Key=key, Body=data)

    def download(self, bucket: str, key: str) -> bytes:
        data: bytes = self.client.get_object(Bucket=bucket, Key=key)["Body"].read()
        return data

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.address,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }

    def objects(self, bucket: str, client: Any) -> Objects:
        return S3Objects(bucket, client)


class GsServer(Server):
    scheme = "gs"

    def client_at(self, address: str, credentials: Any = None) -> Any:
        return storage.Client(
            project=None,
            credentials=credentials or AnonymousCredentials(),  # type: ignore[no-untyped-call]
            client_options=ClientOptions(api_endpoint=address),
        )

    def make_bucket(self, name: str) -> None:
        self.client.create_bucket(name, project="project")

    def keys(self, bucket: str, prefix: str = "") -> list[str]:
        return [blob.name for blob in self.client.list_blobs(bucket, prefix=prefix)]

    def upload(self, bucket: str, key: str, data: bytes) -> None:
        self.client.bucket(bucket).blob(key).upload_from_string(data)

    def download(self, bucket: str, key: str) -> bytes:
        data: bytes = self.client.bucket(bucket).blob(key).download_as_bytes()
        return data

    @property
    def environment(self) -> Mapping[str, str]:
        return {"STORAGE_EMULATOR_HOST": self.address}

    def objects(self, bucket: str, client: Any) -> Objects:
        return GsObjects(bucket, client)


@contextmanager
def server_of(scheme: str) -> Iterator[Server]:
    """It ends with the context."""
    if scheme == "s3":
        with _moto() as address:
            s3 = S3Server(address)
            yield s3
            s3.client.close()
    else:
        with _fake_gcs_server() as address:
            gs = GsServer(address)
            yield gs
            gs.client.close()


@contextmanager
def _moto() -> Iterator[str]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


@contextmanager
def _fake_gcs_server() -> Iterator[str]:
    if FAKE_GCS_SERVER is None:
        pytest.skip(
            "fake-gcs-server is not on the PATH: PATH=$(tools/gcs/build):$PATH, or name it in "
            "FAKE_GCS_SERVER"
        )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [FAKE_GCS_SERVER, "-backend=memory", "-scheme=http", "-log-level=error"]
    process = subprocess.Popen([*command, "-host=127.0.0.1", f"-port={port}"])
    try:
        _await(process, f"http://127.0.0.1:{port}/_internal/healthcheck")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _await(process: "subprocess.Popen[bytes]", url: str) -> None:
    """Until it answers: it says nowhere else that it listens."""
    end = time.monotonic() + STARTS_WITHIN
    while True:
        try:
            with urlopen(url, timeout=STARTS_WITHIN):
                return
        except (URLError, ConnectionError):
            if process.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(0.02)
