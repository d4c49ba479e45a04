"""`spotrain scale`."""

from typing import Annotated

import typer

from spotrain import contract
from spotrain.cli import jobs, wording
from spotrain.cli.errors import CONFLICT, UserError
from spotrain.cli.job_view import JobView, view
from spotrain.cli.options import Context, JobName, Local, Namespace
from spotrain.kinds import Object


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
    with jobs.opened(context=context, namespace=namespace, local=local) as opened:
        change = plan_scale(view(opened.get(name)), gpus=gpus, min_gpus=min_gpus)
        opened.patch(name, change)
    workers = wording.count(change["spec"]["replicaSpecs"][contract.WORKER]["replicas"], "worker")
    watch = wording.command("status", name, "--watch", local=local)
    print(f"scaling {name} to {workers}. Next: {watch}")


def plan_scale(seen: JobView, *, gpus: int, min_gpus: int | None) -> Object:
    """The change of the job's document. Its upper limit gives way, the lower one only when told.

    Raises:
        UserError: the job has ended, or no whole workers make up these numbers.
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
    spec: Object = {"replicaSpecs": {contract.WORKER: {"replicas": replicas}}}
    if replicas > job.max_replicas:
        spec["maxReplicas"] = replicas
    if least != job.min_replicas:
        spec["minReplicas"] = least
    return {"spec": spec}


def _workers(gpus: int, gpus_per_worker: int, option: str) -> int:
    each = max(gpus_per_worker, 1)
    if gpus % each:
        near = max(each, gpus - gpus % each)
        raise UserError(
            f"{option} {gpus}: each worker of this job has {each} GPUs, so give a multiple of "
            f"{each}, such as {near}."
        )
    return gpus // each
