"""A store outside of the workers, where the agents of tuned torchrun meet; prints its port."""

import signal
import sys

from torch.distributed import TCPStore  # type: ignore[attr-defined]


def main(port: int) -> None:
    store = TCPStore("127.0.0.1", port, is_master=True, wait_for_workers=False, multi_tenant=True)
    print(store.port, flush=True)
    signal.pause()


if __name__ == "__main__":
    main(int(sys.argv[1]))
