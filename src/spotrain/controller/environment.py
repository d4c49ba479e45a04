"""The agent's settings, as environment: it reaches the training container and nobody else.

Upstream prepended arguments to every container, sidecars included. torchrun reads PET_<OPTION> for
every option, an argument still wins over it, and a variable that the user set wins over ours.
"""

from typing import Any, Final

from spotrain import contract
from spotrain.controller.failure import limit
from spotrain.controller.model import CoordinatorAddress
from spotrain.job import ElasticJob, gpus_of, worker_name

TRUST_MOUNT: Final = "/var/run/secrets/spotrain"
TOKEN_FILE: Final = "token"
CA_FILE: Final = "ca.crt"
ETCD_RESTARTS: Final = 100
"""With torch's own rendezvous every departure costs each survivor one restart; its default is 0."""

Variable = dict[str, Any]


def build_environment(
    job: ElasticJob,
    index: int,
    container: dict[str, Any],
    *,
    coordinator: CoordinatorAddress | None,
    grace_seconds: int,
    attempt: int,
) -> list[Variable]:
    """The container's variables: ours first, so that the user's may refer to them."""
    ours = [
        _value("PYTHONUNBUFFERED", "1"),
        _value("PET_NNODES", f"{job.min_replicas}:{job.max_replicas}"),
        _value(contract.ENV_GRACE_SECONDS, str(grace_seconds)),
    ]
    gpus = gpus_of(container)
    if gpus:
        ours.append(_value("PET_NPROC_PER_NODE", str(gpus)))
    if job.rdzv_endpoint:
        ours += _external_rendezvous(job, attempt)
    elif coordinator:
        ours += _coordinator(job, index, coordinator)
    theirs = container.get("env") or []
    taken = {variable["name"] for variable in theirs}
    return [variable for variable in ours if variable["name"] not in taken] + list(theirs)


def _external_rendezvous(job: ElasticJob, attempt: int) -> list[Variable]:
    """Upstream's way, with what torch needs since then.

    The id holds the job's uid: a rendezvous closes for ever when its job ends, and a job created
    anew under the old name, or resumed, must not meet it.
    """
    return [
        _value("PET_RDZV_BACKEND", "etcd"),
        _value("PET_RDZV_ENDPOINT", job.rdzv_endpoint),
        _value("PET_RDZV_ID", f"{job.uid}-{attempt}"),
        _value("PET_MAX_RESTARTS", str(ETCD_RESTARTS)),
        _pod_ip("PET_LOCAL_ADDR"),
        # With the shared store survivors keep the address of a dead rank 0 and never meet again.
        _value("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1"),
        # The end of this file becomes the pod's termination message, which tells failures apart.
        _value("TORCHELASTIC_ERROR_FILE", "/dev/termination-log"),
    ]


def _coordinator(job: ElasticJob, index: int, coordinator: CoordinatorAddress) -> list[Variable]:
    variables = [
        _value("PET_MAX_RESTARTS", str(limit(job))),
        _value(contract.ENV_COORDINATOR, coordinator.url),
        _value(contract.ENV_JOB, f"{job.namespace}/{job.name}/{job.uid}"),
        _value(contract.ENV_POD, worker_name(job.name, index)),
        _pod_ip(contract.ENV_ADDRESS),
    ]
    if not coordinator.local:
        variables.append(_value(contract.ENV_TOKEN_FILE, f"{TRUST_MOUNT}/{TOKEN_FILE}"))
        variables.append(_value(contract.ENV_CA_FILE, f"{TRUST_MOUNT}/{CA_FILE}"))
    elif coordinator.token:
        variables.append(_value(contract.ENV_TOKEN, coordinator.token))
    return variables


def _value(name: str, value: str) -> Variable:
    return {"name": name, "value": value}


def _pod_ip(name: str) -> Variable:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
