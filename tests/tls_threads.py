"""Which threads touch a TLS connection: more than one break it, now and then and out of sight."""

import ssl
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from typing import Any

import pytest

TOUCHING = {
    ssl.SSLSocket: ("recv", "recv_into", "send", "sendall"),
    ssl.SSLObject: ("read", "write"),
}


@contextmanager
def tls_threads() -> Iterator[Mapping[object, Set[int]]]:
    """Each connection that this process opens meanwhile -> the threads that read or write it."""
    found = defaultdict[object, set[int]](set)

    def noting(method: Any) -> Any:
        def act(connection: ssl.SSLSocket | ssl.SSLObject, *given: Any, **named: Any) -> Any:
            if not connection.server_side:
                found[connection].add(threading.get_ident())
            return method(connection, *given, **named)

        return act

    with pytest.MonkeyPatch.context() as patch:
        for kind, names in TOUCHING.items():
            for name in names:
                patch.setattr(kind, name, noting(getattr(kind, name)))
        yield found
