"""A real S3 API server on loopback (moto's), and buckets of it as stores."""

import itertools
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3  # type: ignore[import-untyped]
from moto.moto_server.threaded_moto_server import ThreadedMotoServer

_numbers = itertools.count(1)


@contextmanager
def s3_server() -> Iterator[str]:
    """Its address; it ends with the context."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def client_of(address: str) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=address,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


def new_bucket(client: Any) -> str:
    name = f"bucket-{next(_numbers)}"
    client.create_bucket(Bucket=name)
    return name
