"""Where a submission goes: a cluster and its platform, or this machine, which has all one asks."""

import getpass
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from spotrain.cli.jobs import Jobs
from spotrain.job import Pool


@dataclass(frozen=True, kw_only=True)
class Destination:
    jobs: Jobs
    pools: Sequence[Pool]
    training_image: str
    """Of jobs that name none; empty: they have to."""
    namespace: str
    researcher: str


@contextmanager
def in_cluster(context: str | None, namespace: str | None) -> Iterator[Destination]:
    """Raises UserError where there is no cluster, or no platform in it."""
    from spotrain.cli.cluster import connected
    from spotrain.cli.cluster_jobs import ClusterJobs
    from spotrain.cli.platform import read_platform, whoami

    with connected(context, namespace) as cluster:
        platform = read_platform(cluster)
        yield Destination(
            jobs=ClusterJobs(cluster),
            pools=platform.pools,
            training_image=platform.training_image,
            namespace=cluster.namespace,
            researcher=whoami(cluster),
        )


@contextmanager
def on_this_machine(gpu: str | None) -> Iterator[Destination]:
    """It has as many made-up GPUs of any type as a job asks for; workers find scripts in the
    current folder."""
    from spotrain.cli.local_jobs import LocalJobs, own_shelf
    from spotrain.cli.local_run import make_settings
    from spotrain.local.pools import pool_of
    from spotrain.local.shelf import NAMESPACE

    shelf = own_shelf()
    pool = pool_of(gpu, gpus_per_node=1 if gpu else 0)
    yield Destination(
        jobs=LocalJobs(shelf, make_settings(shelf, machines=pool.max_nodes)),
        pools=[pool],
        training_image="this-machine",
        namespace=NAMESPACE,
        researcher=getpass.getuser(),
    )
