"""What the controller reads of a worker's pod template; all else passes through unread.

The API server checks a pod when it is made. These shapes exist so that a slip in a place where
the controller adds something is refused with its path, and never becomes a crash.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from spotrain import contract


class _Shape(BaseModel):
    model_config = ConfigDict(
        extra="allow",
        frozen=True,
        strict=True,
        alias_generator=to_camel,
        use_attribute_docstrings=True,
    )


def _whole_gpus(value: Any) -> Any:
    if isinstance(value, bool) or not re.fullmatch("[0-9]{1,4}", str(value)):
        raise ValueError("is no whole number of GPUs, which cannot be shared in parts; correct it.")
    return value


class _Named(_Shape):
    name: str


class _Limits(_Shape):
    gpu: Annotated[Any, BeforeValidator(_whole_gpus), Field(alias=contract.GPU_RESOURCE)] = 0
    memory: Any = None


class _Resources(_Shape):
    limits: _Limits | None = None


class _Container(_Named):
    env: list[_Named] | None = None
    volume_mounts: list[_Named] | None = None
    resources: _Resources | None = None


class _PodSpec(_Shape):
    containers: Annotated[list[_Container], Field(min_length=1)]
    """the containers of a worker; elasticjob-worker, else the first, trains"""
    volumes: list[_Named] | None = None
    tolerations: list[dict[str, Any]] | None = None
    node_selector: dict[str, str] | None = None
    termination_grace_period_seconds: Annotated[int, Field(ge=0)] | None = None


class _Metadata(_Shape):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Template(_Shape):
    """Only ever validated: the job keeps the mapping that the user wrote."""

    metadata: _Metadata | None = None
    spec: _PodSpec
    """the pod's spec, with its containers"""


def worker_name(job_name: str, index: int) -> str:
    """Upstream's name of a worker's pod."""
    return f"{job_name}-{contract.WORKER.lower()}-{index}"


def worker_container(template: Mapping[str, Any]) -> int:
    """Position of the container that trains: upstream's name, else the first."""
    names = [container["name"] for container in template["spec"]["containers"]]
    return names.index(contract.WORKER_CONTAINER) if contract.WORKER_CONTAINER in names else 0


def limit_of(container: Mapping[str, Any], resource: str) -> str | int | None:
    """A container's limit of a resource as written, or None."""
    limits = (container.get("resources") or {}).get("limits") or {}
    found: str | int | None = limits.get(resource)
    return found


def gpus_of(container: Mapping[str, Any]) -> int:
    """GPUs that a container asks for."""
    return int(limit_of(container, contract.GPU_RESOURCE) or 0)
