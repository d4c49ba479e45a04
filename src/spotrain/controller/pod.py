"""A worker's pod: the user's template, and what every job needs and the template lacks."""

import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from spotrain import contract
from spotrain.controller.environment import CA_FILE, TOKEN_FILE, TRUST_MOUNT, build_environment
from spotrain.controller.model import CoordinatorAddress
from spotrain.controller.nearness import keep_near
from spotrain.controller.network import labels, owner
from spotrain.controller.outdated import MADE_OF_ANNOTATION, made_of
from spotrain.job import ElasticJob, Offer, limit_of, worker_container, worker_name

ATTEMPT_ANNOTATION: Final = f"{contract.DOMAIN}/attempt"
SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
"""A node on which a worker trains is no idle node, however little of it the worker asks for."""
QUEUE_LABELS: Final = ("kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class")
"""A queue that a job is put into is that of its pods: each waits its turn there."""
SHM_PATH: Final = "/dev/shm"
SHM_VOLUME: Final = "spotrain-shm"
SHM_SHARE: Final = 4
"""A memory volume counts towards the container's limit; a quarter leaves the training its room."""
TRUST_VOLUME: Final = "spotrain-trust"
CA_CONFIGMAP: Final = f"{contract.COORDINATOR_SERVICE}-ca"
TOKEN_SECONDS: Final = 3600
UNITS: Final = {
    unit: base**power
    for base, units in ((1000, ("", "k", "M", "G", "T")), (1024, ("", "Ki", "Mi", "Gi", "Ti")))
    for power, unit in enumerate(units)
}


def build_pod(
    job: ElasticJob,
    index: int,
    offer: Offer | None,
    coordinator: CoordinatorAddress | None,
    *,
    attempt: int = 0,
) -> dict[str, Any]:
    """The manifest of one worker. Same arguments, same manifest; the template is never changed."""
    template = deepcopy(dict(job.template))
    metadata, spec = template.get("metadata") or {}, template["spec"]
    _identify(metadata, job, offer, index=index, attempt=attempt)
    # ExitCode is upstream's: the controller decides by the code, so the kubelet must not restart.
    policy = job.restart_policy
    spec["restartPolicy"] = "Never" if policy == "ExitCode" else policy
    # Training asks nothing of the Kubernetes API; a template that does says so.
    spec.setdefault("automountServiceAccountToken", False)
    grace_seconds = _set_grace(spec, offer)
    if offer:
        _pin(spec, offer)
    else:
        keep_near(spec, job)
    if offer or job.gpus_per_worker:
        _tolerate_gpu_nodes(spec)
    container = spec["containers"][worker_container(template)]
    container["env"] = build_environment(
        job,
        index,
        container,
        coordinator=coordinator,
        grace_seconds=grace_seconds,
        attempt=attempt,
    )
    # Where the training leaves no message, the end of its log says why it failed.
    container.setdefault("terminationMessagePolicy", "FallbackToLogsOnError")
    _share_memory(spec, container)
    if coordinator and not coordinator.local and not job.rdzv_endpoint:
        _trust(spec, container)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _identify(
    metadata: dict[str, Any], job: ElasticJob, offer: Offer | None, *, index: int, attempt: int
) -> None:
    """Name, labels and owner are ours, since selectors and the garbage collector rely on them."""
    metadata.pop("generateName", None)
    metadata["name"] = worker_name(job.name, index)
    metadata["namespace"] = job.namespace
    own_labels = {**labels(job), contract.LABEL_REPLICA_INDEX: str(index)}
    queues = {key: value for key, value in job.labels.items() if key in QUEUE_LABELS}
    metadata["labels"] = {**queues, **(metadata.get("labels") or {}), **own_labels}
    own_annotations = {ATTEMPT_ANNOTATION: str(attempt), MADE_OF_ANNOTATION: made_of(job)}
    if offer:
        own_annotations[contract.OFFER_ANNOTATION] = offer.place
    given = metadata.get("annotations") or {}
    metadata["annotations"] = {SAFE_TO_EVICT: "false", **given, **own_annotations}
    metadata["ownerReferences"] = [owner(job)]


def bytes_of(quantity: str | int) -> int | None:
    """Kubernetes' 8Gi or 500M as bytes; None for what is no such quantity."""
    found = re.fullmatch(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)(Ki|Mi|Gi|Ti|k|M|G|T|)", str(quantity))
    return int(float(found[1]) * UNITS[found[2]]) if found else None


def _set_grace(spec: dict[str, Any], offer: Offer | None) -> int:
    """Seconds that a worker has from a notice on, and the pod's grace period where it has none.

    A template may ask for more than the machine's notice, for drains and suspensions. A machine
    that is taken back does not wait for it, and nobody can tell beforehand which of them comes; so
    the worker reckons with what the machine gives.
    """
    given: int | None = spec.get("terminationGracePeriodSeconds")
    if offer is None:
        return contract.DEFAULT_GRACE_SECONDS if given is None else given
    if given is None:
        given = spec["terminationGracePeriodSeconds"] = offer.pool.notice_seconds
    return min(given, offer.pool.notice_seconds)


def _pin(spec: dict[str, Any], offer: Offer) -> None:
    place = {contract.LABEL_POOL: offer.pool.name}
    if offer.zone:
        place[contract.LABEL_ZONE] = offer.zone
    spec["nodeSelector"] = {**place, **(spec.get("nodeSelector") or {})}


def _tolerate_gpu_nodes(spec: dict[str, Any]) -> None:
    toleration = {"key": contract.GPU_TAINT_KEY, "operator": "Exists"}
    given = spec.get("tolerations") or []
    spec["tolerations"] = given if toleration in given else [*given, toleration]


def _share_memory(spec: dict[str, Any], container: dict[str, Any]) -> None:
    """Data loader workers hand batches over in /dev/shm, of which a container has 64 MiB."""
    mounts = container.get("volumeMounts") or []
    if any(str(mount.get("mountPath", "")).rstrip("/") == SHM_PATH for mount in mounts):
        return
    volume: dict[str, Any] = {"medium": "Memory"}
    limit = bytes_of(limit_of(container, "memory") or "")
    if limit:
        volume["sizeLimit"] = _quantity(limit // SHM_SHARE)
    _mount(spec, container, {"name": SHM_VOLUME, "emptyDir": volume}, path=SHM_PATH)


def _trust(spec: dict[str, Any], container: dict[str, Any]) -> None:
    """A token that only this pod has, and the authority that signed the coordinator's certificate.

    A pod waits for the ConfigMap: an agent that cannot tell the coordinator from an impostor must
    not start.
    """
    token = {
        "path": TOKEN_FILE,
        "audience": contract.TOKEN_AUDIENCE,
        "expirationSeconds": TOKEN_SECONDS,
    }
    authority = {"name": CA_CONFIGMAP, "items": [{"key": CA_FILE, "path": CA_FILE}]}
    sources = [{"serviceAccountToken": token}, {"configMap": authority}]
    volume = {"name": TRUST_VOLUME, "projected": {"sources": sources}}
    _mount(spec, container, volume, path=TRUST_MOUNT, read_only=True)


def _mount(
    spec: dict[str, Any],
    container: dict[str, Any],
    volume: Mapping[str, Any],
    *,
    path: str,
    read_only: bool = False,
) -> None:
    mount = {"name": volume["name"], "mountPath": path} | ({"readOnly": True} if read_only else {})
    spec["volumes"] = [*(spec.get("volumes") or []), volume]
    container["volumeMounts"] = [*(container.get("volumeMounts") or []), mount]


def _quantity(count: int) -> str:
    """Bytes in the largest unit that says them exactly."""
    for unit in ("Gi", "Mi", "Ki"):
        if count and count % UNITS[unit] == 0:
            return f"{count // UNITS[unit]}{unit}"
    return str(count)
