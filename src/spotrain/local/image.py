"""What stands for a container on this machine: an image's entry point, a volume's folder."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spotrain.job import worker_container
from spotrain.local.expansion import expand


class NotLocal(ValueError):
    """The pod needs something that only a cluster has."""


@dataclass(frozen=True, kw_only=True)
class Image:
    """The training image: what runs when a container names no command, and where."""

    workdir: Path
    entrypoint: Sequence[str] = (sys.executable, "-m", "spotrain.agent")


@dataclass(frozen=True, kw_only=True)
class Launch:
    """How to start a pod's process."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    workdir: Path


def plan_launch(
    manifest: Mapping[str, Any],
    *,
    image: Image,
    volumes: Mapping[str, Path],
    fields: Mapping[str, str],
    extra: Mapping[str, str],
) -> Launch:
    """The process that stands for a pod's training container.

    Volume claims become folders: a mount path at the beginning of a word in command, arguments or
    environment is replaced by its folder. Images, limits and other containers are left aside.

    Raises:
        NotLocal: a claim without a folder, a secret, a field that only a cluster knows.
    """
    spec = manifest["spec"]
    container = spec["containers"][worker_container({"spec": spec})]
    mounts = _mounts(spec, container, volumes)
    command = container.get("command") or list(image.entrypoint)
    variables = _environment(container, fields)
    words = [*command, *(container.get("args") or [])]
    expanded = [expand(relocate(word, mounts), variables) for word in words]
    environment = {name: relocate(value, mounts) for name, value in variables.items()}
    workdir = container.get("workingDir")
    return Launch(
        command=tuple(expanded),
        environment={**_inherited(), **environment, **extra},
        workdir=Path(relocate(workdir, mounts)) if workdir else image.workdir,
    )


def _inherited() -> dict[str, str]:
    """This process's environment, with its own programs first, and compiled modules kept."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SPOTRAIN_", "PET_", "TORCHELASTIC_"))
    }
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # torch without .pyc files imports in 10 s
    return environment


def _mounts(
    spec: Mapping[str, Any], container: Mapping[str, Any], volumes: Mapping[str, Path]
) -> dict[str, str]:
    """Mount path -> folder on this machine."""
    claims = {
        volume["name"]: volume["persistentVolumeClaim"]["claimName"]
        for volume in spec.get("volumes") or []
        if "persistentVolumeClaim" in volume
    }
    mounts: dict[str, str] = {}
    for mount in container.get("volumeMounts") or []:
        claim = claims.get(mount["name"])
        if claim is None:
            continue  # memory volumes and the like: the machine's own will do
        if claim not in volumes:
            known = ", ".join(sorted(volumes)) or "none"
            raise NotLocal(
                f"volume claim {claim!r} has no folder on this machine (given: {known}); "
                f"name one with --volume {claim}=FOLDER"
            )
        mounts[mount["mountPath"].rstrip("/")] = str(volumes[claim].resolve())
    return mounts


def relocate(word: str, mounts: Mapping[str, str]) -> str:
    """The word with mount paths at the beginning of it, or after one of =:, as their folders."""
    for path, folder in mounts.items():
        word = re.sub(rf"(^|[=:,]){re.escape(path)}(?=/|$|[:,])", rf"\g<1>{folder}", word)
    return word


def _environment(container: Mapping[str, Any], fields: Mapping[str, str]) -> dict[str, str]:
    variables: dict[str, str] = {}
    for entry in container.get("env") or []:
        name = entry["name"]
        if "value" in entry:
            variables[name] = expand(str(entry["value"]), variables)
            continue
        path = entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        if path not in fields:
            raise NotLocal(
                f"environment variable {name} takes its value from {entry.get('valueFrom')!r}, "
                "which only a cluster has; give it a plain value to run the job here"
            )
        variables[name] = fields[path]
    return variables
