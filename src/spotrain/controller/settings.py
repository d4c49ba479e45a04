"""The controller's settings: environment variables, each with a default that suits a cluster."""

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from spotrain import contract
from spotrain.controller.variables import SettingsError, read_log_level, read_port, read_whole

ENV_COORDINATOR_PORT: Final = "SPOTRAIN_COORDINATOR_PORT"
ENV_LISTEN_ADDRESS: Final = "SPOTRAIN_LISTEN_ADDRESS"
ENV_PROBE_PORT: Final = "SPOTRAIN_METRICS_PORT"
ENV_NODE_LOST_SECONDS: Final = "SPOTRAIN_NODE_LOST_SECONDS"
ENV_NAMESPACED: Final = "SPOTRAIN_NAMESPACED"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Usage: `Settings.read(os.environ)`."""

    namespace: str = ""
    """SPOTRAIN_JOB_NAMESPACE: the only namespace whose jobs are run; empty: all."""
    is_namespaced: bool = False
    """SPOTRAIN_NAMESPACED: `true` where the controller has the rights of k8s/namespaced/rbac.yaml,
    none of them over the whole cluster. It then needs SPOTRAIN_JOB_NAMESPACE, reads agents' tokens
    by the issuer's public keys, and sees no nodes."""
    coordinator_port: int = contract.COORDINATOR_PORT
    """SPOTRAIN_COORDINATOR_PORT: where agents connect, with TLS. Pods are told the default."""
    listen_address: str = "0.0.0.0"
    """SPOTRAIN_LISTEN_ADDRESS: an IP address of this machine, for all ports; `::` where a cluster
    knows IPv6 alone."""
    probe_port: int = contract.METRICS_PORT
    """SPOTRAIN_METRICS_PORT: /healthz, /readyz and /metrics, plain HTTP."""
    node_lost_seconds: float = 30.0
    """SPOTRAIN_NODE_LOST_SECONDS: the workers of a node whose kubelet has been silent for so long,
    counted from the moment when Kubernetes noticed it, are replaced."""
    max_gpus_per_researcher: int | None = None
    """SPOTRAIN_MAX_GPUS_PER_RESEARCHER: most GPUs that the jobs with one value of the label
    spotrain.dev/researcher hold together; empty: any number."""
    log_level: str = "INFO"
    """SPOTRAIN_LOG_LEVEL: DEBUG, INFO, WARNING or ERROR."""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Settings":
        """Raises SettingsError."""
        namespace = environment.get(contract.ENV_JOB_NAMESPACE, "").strip()
        is_namespaced = _flag(environment, ENV_NAMESPACED)
        if is_namespaced and not namespace:
            raise SettingsError(
                f"{ENV_NAMESPACED}=true needs {contract.ENV_JOB_NAMESPACE}: rights over one "
                "namespace are rights over no other; name the one that has the jobs."
            )
        return cls(
            namespace=namespace,
            is_namespaced=is_namespaced,
            coordinator_port=read_port(environment, ENV_COORDINATOR_PORT, cls.coordinator_port),
            listen_address=_address(environment, ENV_LISTEN_ADDRESS, cls.listen_address),
            probe_port=read_port(environment, ENV_PROBE_PORT, cls.probe_port),
            node_lost_seconds=_seconds(environment, ENV_NODE_LOST_SECONDS, cls.node_lost_seconds),
            max_gpus_per_researcher=read_whole(
                environment, contract.ENV_MAX_GPUS, "GPUs", None, empty="no limit"
            ),
            log_level=read_log_level(environment, cls.log_level),
        )


def _flag(environment: Mapping[str, str], name: str) -> bool:
    text = environment.get(name, "false").strip().lower()
    if text not in ("true", "false"):
        raise SettingsError(f"{name}={text!r} is neither true nor false; use one of them.")
    return text == "true"


def _address(environment: Mapping[str, str], name: str, default: str) -> str:
    text = environment.get(name, default)
    try:
        return str(ip_address(text))
    except ValueError:
        raise SettingsError(
            f"{name}={text!r} is no IP address; give one such as {default} or ::."
        ) from None


def _seconds(environment: Mapping[str, str], name: str, default: float) -> float:
    text = environment.get(name, str(default))
    with contextlib.suppress(ValueError):
        if 0 <= (seconds := float(text)) < math.inf:
            return seconds
    raise SettingsError(f"{name}={text!r} is no number of seconds, 0 or more; correct it.")
