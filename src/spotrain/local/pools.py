"""The pool of this machine, where nobody names any."""

from spotrain import contract
from spotrain.job import ElasticJob, Pool

NOTICE_SECONDS = 90
"""As AWS leaves a pod of its 120."""
MOST_NODES = 1000


def own_pools(job: ElasticJob) -> tuple[Pool, ...]:
    """One pool of the job's own GPU, whose nodes each take one worker."""
    return (pool_of(job.placement.gpu, gpus_per_node=max(1, job.gpus_per_worker)),)


def pool_of(gpu: str | None, *, gpus_per_node: int) -> Pool:
    """Nodes of this machine; nobody bills the machine that one sits at."""
    gpu = gpu or contract.NO_GPU
    return Pool(
        name=f"{gpu}-local",
        gpu=gpu,
        gpus_per_node=gpus_per_node,
        capacity="on-demand",
        zones=("here",),
        instance_types=("this-machine",),
        max_nodes=MOST_NODES,
        notice_seconds=NOTICE_SECONDS,
        on_demand_usd_per_hour=0,
    )
