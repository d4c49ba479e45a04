"""`spotrain scale`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated

import typer

from spotrain import contract
from spotrain.cli import jobs, wording
from spotrain.cli.errors import CONFLICT, UserError
from spotrain.cli.job_view import JobView, view
from spotrain.cli.options import Context, JobName, Local, Namespace
from spotrain.cli.sizing import fitting_pools
from spotrain.job import ElasticJob, Pool
from spotrain.kinds import Object
from spotrain.next_command import next_command


def command(
    name: JobName,
    gpus: Annotated[int, typer.Option(min=1, help="GPUs of all workers together.")],
    min_gpus: Annotated[
        int | None, typer.Option(min=1, help="Below it the job waits; default: as it is.")
    ] = None,
    context: Context = None,
    namespace: Namespace = None,
    local: Local = False,
) -> None:
    """Change the number of GPUs of a job while it trains.

    A job without GPUs is counted in workers.
    """
    with _opened(context, namespace, local=local) as (opened, pools):
        seen = view(opened.get(name))
        change = plan_scale(seen, gpus=gpus, min_gpus=min_gpus, pools=pools)
        is_new = seen.job is None or changes(seen.job, change)
        if is_new:
            opened.patch(name, change)
    workers = wording.count(change["spec"]["replicaSpecs"][contract.WORKER]["replicas"], "worker")
    watch = next_command("status", name, "--watch", local=local)
    if is_new:
        print(f"scaling {name} to {workers}. Next: {watch}")
    else:
        print(f"{name} is to have {workers} already: nothing to do. Next: {watch}")


@contextmanager
def _opened(
    context: str | None, namespace: str | None, *, local: bool
) -> Iterator[tuple[jobs.Jobs, Sequence[Pool]]]:
    """The jobs, and the pools for them; none where nobody names any, as on this machine."""
    if local:
        with jobs.opened(context=context, namespace=namespace, local=True) as opened:
            yield opened, ()
        return
    from spotrain.cli.cluster import connected
    from spotrain.cli.cluster_jobs import ClusterJobs
    from spotrain.cli.platform import read_platform

    with connected(context, namespace) as cluster:
        pools: Sequence[Pool] = ()
        with suppress(UserError):  # who may not read them is not refused for that
            pools = read_platform(cluster).pools
        yield ClusterJobs(cluster), pools


def plan_scale(
    seen: JobView, *, gpus: int, min_gpus: int | None, pools: Sequence[Pool] = ()
) -> Object:
    """The change of the job's document. Its upper limit gives way, the lower one only when told.

    Args:
        pools: all there are; empty: it is not known.

    Raises:
        UserError: the job has ended, no whole workers make up these numbers, or no zone of a pool
            that the job may use can ever have so many.
    """
    job = seen.job
    if seen.status.finished or job is None:
        raise UserError(
            f"{seen.name} is {seen.state}: its size cannot be changed any more.",
            exit_code=CONFLICT,
        )
    replicas = _workers(gpus, job.gpus_per_worker, "--gpus")
    least = _workers(min_gpus, job.gpus_per_worker, "--min-gpus") if min_gpus else job.min_replicas
    if replicas < least:
        each = max(job.gpus_per_worker, 1)
        raise UserError(
            f"--gpus {gpus} is below the {least * each} with which {seen.name} still trains; add "
            f"--min-gpus {gpus} or less to let it."
        )
    wants_zone = job.placement.gpu and job.gpus_per_worker and job.placement.zone == "same"
    if pools and wants_zone and replicas > job.replicas:
        place = job.placement
        fitting_pools(pools, gpu=place.gpu, gpus=gpus, names=place.pools, capacity=place.capacity)
    spec: Object = {"replicaSpecs": {contract.WORKER: {"replicas": replicas}}}
    if replicas > job.max_replicas:
        spec["maxReplicas"] = replicas
    if least != job.min_replicas:
        spec["minReplicas"] = least
    return {"spec": spec}


def changes(job: ElasticJob, change: Object) -> bool:
    """False: the job is to have that size already."""
    same: Object = {"replicaSpecs": {contract.WORKER: {"replicas": job.replicas}}}
    return bool(change["spec"] != same)


def _workers(gpus: int, gpus_per_worker: int, option: str) -> int:
    each = max(gpus_per_worker, 1)
    if gpus % each:
        near = max(each, gpus - gpus % each)
        raise UserError(
            f"{option} {gpus}: each worker of this job has {each} GPUs, so give a multiple of "
            f"{each}, such as {near}."
        )
    return gpus // each
