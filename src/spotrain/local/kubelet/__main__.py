"""Made-up nodes for a real cluster: `python -m spotrain.local.kubelet --nodes 3 --pool t4-spot`.

The cluster is the one of KUBECONFIG; give it one without nodes of its own, such as kwok makes.
Ctrl-C takes the nodes away again.
"""

import argparse
import asyncio
import contextlib
import logging
import signal
import socket
import sys
from pathlib import Path

from lightkube.core.exceptions import ConfigError

from spotrain import contract
from spotrain.controller.connection import connected
from spotrain.controller.kube import FAULTS
from spotrain.local.arguments import read_pairs, require_folder
from spotrain.local.image import Image
from spotrain.local.kubelet.kubelet import Kubelet
from spotrain.local.kubelet.node import NodeSpec
from spotrain.local.kubelet.options import Options

AUTHORITY_HELP = "which has signed the API server's --kubelet-client-certificate; for kubectl logs"
IMAGE_HELP = "folder that stands for every image's working directory (%(default)s)"


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m spotrain.local.kubelet", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1, help="how many (%(default)s)")
    parser.add_argument("--name", default=socket.gethostname().lower(), help="before a number")
    parser.add_argument("--pool", default="", help="label spotrain.dev/pool of each")
    parser.add_argument("--zone", default="", help="label topology.kubernetes.io/zone of each")
    parser.add_argument("--gpu", default="", help="GPU model; adds the taint of GPU nodes")
    parser.add_argument("--gpus", type=int, default=1, help="GPUs on paper, per node (%(default)s)")
    parser.add_argument("--image", type=Path, default=Path("training-image"), help=IMAGE_HELP)
    parser.add_argument("--claim", action="append", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--host", action="append", default=[], metavar="NAME=ADDRESS")
    parser.add_argument("--folder", type=Path, default=Path("build/kubelet"), help="logs, volumes")
    parser.add_argument("--api-authority", type=Path, metavar="CERTIFICATE", help=AUTHORITY_HELP)
    return parser.parse_args(arguments)


def build_specs(options: argparse.Namespace) -> list[NodeSpec]:
    labels = {
        contract.LABEL_ROLE: contract.ROLE_WORKER,
        contract.LABEL_POOL: options.pool,
        contract.LABEL_ZONE: options.zone,
        contract.LABEL_GPU: options.gpu or contract.NO_GPU,
    }
    taint = {
        "key": contract.GPU_TAINT_KEY,
        "value": contract.GPU_TAINT_VALUE,
        "effect": contract.GPU_TAINT_EFFECT,
    }
    return [
        NodeSpec(
            name=f"{options.name}-{number}",
            labels={name: value for name, value in labels.items() if value},
            taints=[taint] if options.gpu else [],
            capacity={contract.GPU_RESOURCE: str(options.gpus)} if options.gpu else {},
        )
        for number in range(options.nodes)
    ]


def build_options(options: argparse.Namespace) -> Options:
    """Raises UsageError."""
    claims = read_pairs(options.claim, "--claim", "NAME=FOLDER")
    hosts = read_pairs(options.host, "--host", "NAME=ADDRESS")
    return Options(
        folder=options.folder,
        image=Image(workdir=require_folder(options.image, "--image").resolve()),
        claims={
            name: require_folder(Path(folder), f"--claim {name}") for name, folder in claims.items()
        },
        hosts={name: addresses.split(",") for name, addresses in hosts.items()},
        api_authority=options.api_authority,
    )


async def run(specs: list[NodeSpec], options: Options) -> None:
    """Until SIGINT or SIGTERM."""
    ending = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ending.set)
    async with connected() as kube, Kubelet(kube, options).running() as kubelet:
        for spec in specs:
            await kubelet.add(spec)
        print(
            f"{len(specs)} nodes; logs: {options.folder / 'pods'}. Ctrl-C takes them away.",
            flush=True,
        )
        await ending.wait()
        with contextlib.suppress(*FAULTS):
            for spec in specs:
                await kubelet.remove(spec.name)


def main(arguments: list[str] | None = None) -> int:
    logging.basicConfig(level="WARNING", format="%(asctime)s %(name)s: %(message)s")
    parsed = parse(arguments)
    try:
        asyncio.run(run(build_specs(parsed), build_options(parsed)))
    except (ValueError, ConfigError) as error:
        print(f"spotrain.local.kubelet: {error}", file=sys.stderr)
        return contract.EXIT_USAGE
    except FAULTS as fault:
        print(f"spotrain.local.kubelet: no API server answers: {fault!r}", file=sys.stderr)
        return contract.EXIT_FAILED
    return contract.EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
