"""What stands on this machine for what pods ask of a node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spotrain.local.image import Image


@dataclass(frozen=True, kw_only=True)
class Options:
    """How the pods of all made-up nodes are run."""

    folder: Path
    """Logs, volumes and temporary files of the pods lie under it."""
    image: Image
    """Stands for every image that `images` does not name."""
    images: Mapping[str, Image] = field(default_factory=dict)
    claims: Mapping[str, Path] = field(default_factory=dict)
    """Persistent volume claim -> folder."""
    hosts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Name -> addresses that pods find in their /etc/hosts: there is no cluster DNS here."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """For every container, below what the pod says."""
    api_authority: Path | None = None
    """Certificate that has signed the one by which the API server shows itself to kubelets; None:
    no log and no port of a pod can be had through it."""
    heartbeat_seconds: float = 10.0
    """Between two signs of life of a node; the real kubelet's own default."""
    crash_backoff_seconds: float = 10.0
    """Before the first restart of a container that ended; doubles, as in the real kubelet."""
