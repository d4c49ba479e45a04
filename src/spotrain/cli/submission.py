"""The ElasticJob of a submission: a pure function of what was asked for."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from spotrain import contract
from spotrain.cli.errors import UserError
from spotrain.cli.sizing import Size
from spotrain.job import CapacityPolicy, InvalidDocument, parse_job, worker_container
from spotrain.kinds import Object

SECRET_NAME: Final = r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?"


@dataclass(frozen=True, kw_only=True)
class Submission:
    name: str
    namespace: str
    researcher: str
    gpu: str
    size: Size
    image: str
    is_platform_image: bool
    """The platform's own training image: its user is known, so the pod can be held to it."""
    arguments: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: Sequence[str] = ()
    """Names of secrets, all of whose keys become variables."""
    pools: Sequence[str] = ()
    capacity: CapacityPolicy = "spotThenOnDemand"
    max_dollars: float | None = None
    workdir: str = ""
    """Where the script lies; empty: in the image's own working directory."""


def build_job(asked: Submission) -> Object:
    """What is sent to the API server. Raises UserError where no such job can be."""
    refuse_unusable_words(asked)
    placement: Object = {"gpu": asked.gpu}
    if asked.pools:
        placement["pools"] = list(asked.pools)
    if asked.capacity != "spotThenOnDemand":
        placement["capacity"] = asked.capacity
    spec: Object = {
        "minReplicas": asked.size.min_workers,
        "maxReplicas": asked.size.workers,
        "placement": placement,
    }
    if asked.max_dollars is not None:
        spec["budget"] = {"maxDollars": asked.max_dollars}
    spec["replicaSpecs"] = {
        contract.WORKER: {"replicas": asked.size.workers, "template": {"spec": _pod(asked)}}
    }
    job = {
        "apiVersion": contract.API_VERSION,
        "kind": contract.KIND,
        "metadata": {
            "name": asked.name,
            "namespace": asked.namespace,
            "labels": {contract.LABEL_RESEARCHER: asked.researcher},
        },
        "spec": spec,
    }
    refuse_unusable(job)
    return job


def refuse_unusable_words(asked: Submission) -> None:
    """What the API server takes, and only the job's pods would be refused or fail for. Raises
    UserError."""
    if not asked.image or asked.image.split() != [asked.image]:
        raise UserError(f"--image {asked.image!r}: give the reference of an image.")
    if not asked.arguments or not asked.arguments[0].strip():
        raise UserError("SCRIPT is empty: after the options give the script and its arguments.")
    for name in asked.secrets:
        if not re.fullmatch(SECRET_NAME, name):
            raise UserError(
                f"--secret {name!r}: names of secrets have lower-case letters, digits, inner '-' "
                "and '.' only."
            )


def refuse_unusable(job: Mapping[str, Any]) -> None:
    """Raises UserError, with every fault in one line, where the document is no usable job."""
    try:
        parse_job(job)
    except InvalidDocument as error:
        faults = [f"{path}: {said}" if path else said for path, said in error.problems]
        raise UserError(f"this job cannot be: {' '.join(faults)}") from None


def output_folder(name: str) -> str:
    """Where the job's results go, as its workers see it."""
    return f"{contract.VOLUME_MOUNT}/{contract.OUTPUT_DIR}/{name}"


def container_of(document: Mapping[str, Any]) -> Object:
    """The one that trains, of a job's document: what is changed in it is changed there."""
    template = document["spec"]["replicaSpecs"][contract.WORKER]["template"]
    found: Object = template["spec"]["containers"][worker_container(template)]
    return found


def _pod(asked: Submission) -> Object:
    security: Object = {"seccompProfile": {"type": "RuntimeDefault"}}
    if asked.is_platform_image:
        user = contract.JOB_UID
        security |= {"runAsNonRoot": True, "runAsUser": user, "runAsGroup": user}
    claim = {"claimName": contract.VOLUME_CLAIM}
    return {
        "securityContext": security,
        "containers": [_container(asked)],
        "volumes": [{"name": contract.VOLUME_CLAIM, "persistentVolumeClaim": claim}],
    }


def _container(asked: Submission) -> Object:
    folder = {contract.ENV_OUTPUT: output_folder(asked.name)}
    container: Object = {
        "name": contract.WORKER_CONTAINER,
        "image": asked.image,
        "args": list(asked.arguments),
        "env": [
            {"name": name, "value": value}
            for name, value in {**folder, **asked.environment}.items()
        ],
    }
    if asked.workdir:
        container["workingDir"] = asked.workdir
    if asked.secrets:
        container["envFrom"] = [{"secretRef": {"name": name}} for name in asked.secrets]
    if asked.size.gpus_per_worker:
        limits = {contract.GPU_RESOURCE: asked.size.gpus_per_worker}
        container["resources"] = {"limits": limits}
    container["securityContext"] = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    container["volumeMounts"] = [
        {"name": contract.VOLUME_CLAIM, "mountPath": contract.VOLUME_MOUNT}
    ]
    return container


def researcher_label(user: str) -> str:
    """What a label can hold of a user's name: its last part, and of an address the mailbox.

    arn:aws:sts::1:assumed-role/Team/ada@example.org -> ada
    """
    last = re.split(r"[/:]", user)[-1].split("@")[0]
    return re.sub(r"[^A-Za-z0-9]+$|^[^A-Za-z0-9]+", "", re.sub(r"[^A-Za-z0-9._-]", "-", last)[:63])
