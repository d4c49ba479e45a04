"""An address of its own for each pod, out of this machine's 127.0.0.0/8. Pure."""

import hashlib
import itertools
from collections.abc import Container

HOST_IP = "127.0.0.1"


def address_of(uid: str, taken: Container[str]) -> str:
    """Always the same for a pod, unless another has it; never 127.0.0.x, where servers live."""
    for attempt in itertools.count():
        seed = hashlib.sha256(f"{uid}/{attempt}".encode()).digest()
        found = f"127.{1 + seed[0] % 254}.{seed[1]}.{1 + seed[2] % 254}"
        if found not in taken:
            return found
    raise AssertionError("counted to the end")
