"""`python -m spotrain.archive.probe [--alive]`: what the kubelet asks inside the pod, since nobody
outside reaches its loopback. Without `--alive` a volume that does not answer is a failure too;
starting the archive anew would not help it."""

import http.client
import os
import sys

from spotrain.archive.settings import ENV_ADDRESS, Settings, own_port
from spotrain.controller.variables import SettingsError

SECONDS = 4.0


def main(arguments: list[str]) -> int:
    """0: well. 1: not, and why on standard output."""
    try:
        address = os.environ.get(ENV_ADDRESS, Settings.address)
        connection = http.client.HTTPConnection(address, own_port(os.environ), timeout=SECONDS)
        connection.request("GET", "/healthz", headers={"Host": "localhost"})
        answer = connection.getresponse()
        told = answer.read().decode()
    except (OSError, http.client.HTTPException, SettingsError) as error:
        print(f"the archive does not answer: {error}")
        return 1
    print(told, end="")
    return 0 if answer.status == 200 or arguments == ["--alive"] else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
