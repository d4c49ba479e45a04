"""Where a submission goes: a cluster and its platform, or this machine, which has all one asks."""

import getpass
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spotrain.cli import wording
from spotrain.cli.errors import UserError
from spotrain.cli.jobs import Jobs
from spotrain.cli.output import say
from spotrain.job import Pool, Price

if TYPE_CHECKING:
    from spotrain.cli.cluster import Cluster
    from spotrain.cli.code import Packed


@dataclass(frozen=True, kw_only=True)
class Destination:
    jobs: Jobs
    pools: Sequence[Pool]
    training_image: str
    """Of jobs that name none; empty: they have to."""
    namespace: str
    researcher: str
    send_code: "Callable[[Packed], None]"
    """To where the job's workers find it. Raises UserError."""
    read_prices: Callable[[], Sequence[Price]] = tuple
    """What spot nodes cost now."""


@contextmanager
def in_cluster(context: str | None, namespace: str | None) -> Iterator[Destination]:
    """Raises UserError where there is no cluster, or no platform in it."""
    from spotrain.cli.cluster import connected
    from spotrain.cli.cluster_jobs import ClusterJobs
    from spotrain.cli.platform import read_platform, read_prices, whoami

    with connected(context, namespace) as cluster:
        platform = read_platform(cluster)
        yield Destination(
            jobs=ClusterJobs(cluster),
            pools=platform.pools,
            training_image=platform.training_image,
            namespace=cluster.namespace,
            researcher=whoami(cluster),
            send_code=lambda packed: _send(cluster, packed),
            read_prices=lambda: read_prices(cluster),
        )


@contextmanager
def on_this_machine(gpu: str | None, folder: Path) -> Iterator[Destination]:
    """It has as many made-up GPUs of any type as a job asks for; workers find scripts in `folder`,
    as it is whenever they start."""
    from spotrain.cli.local_jobs import LocalJobs, own_shelf
    from spotrain.cli.local_run import make_settings
    from spotrain.local.pools import pool_of
    from spotrain.local.shelf import NAMESPACE

    shelf = own_shelf()
    try:
        pool = pool_of(gpu, gpus_per_node=1 if gpu else 0)
    except ValueError:
        raise UserError(
            f"--gpu-type {gpu!r}: names of GPUs have lower-case letters, digits and inner '-' only."
        ) from None
    yield Destination(
        jobs=LocalJobs(shelf, make_settings(shelf, workdir=folder, machines=pool.max_nodes)),
        pools=[pool],
        training_image="this-machine",
        namespace=NAMESPACE,
        researcher=getpass.getuser(),
        send_code=lambda _packed: None,
    )


def _send(cluster: "Cluster", packed: "Packed") -> None:
    """Unless the archive has it already. What is cut off half-way, it throws away."""
    from spotrain.cli.archive import archive_of

    with archive_of(cluster) as archive:
        if not archive.has_code(packed.sha256):
            say(f"sending {wording.size(packed.size)} of code ...")
            archive.send_code(packed.sha256, packed.file)
