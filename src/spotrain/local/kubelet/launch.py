"""How a container starts as a process: its words, its variables, its folders. Pure."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from spotrain.local.expansion import expand
from spotrain.local.image import Image, Launch, NotLocal, relocate
from spotrain.local.kubelet import namespaces

Document = Mapping[str, Any]
TERMINATION_PATH: Final = "/dev/termination-log"
PASSED_ON: Final = ("HOME", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH")


def base_environment(own: Mapping[str, str]) -> dict[str, str]:
    """Of every container: nothing of this process's that could change what a pod does."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{own.get('PATH', os.defpath)}"
    return {"PATH": programs, **{name: own[name] for name in PASSED_ON if name in own}}


def find_mounts(
    container: Document, folders: Mapping[str, Path], termination: Path
) -> dict[str, str]:
    """Mount path -> what lies there on this machine; deeper paths first, so that they win."""
    mounts = {
        mount["mountPath"].rstrip("/"): str(folders[mount["name"]] / mount.get("subPath", ""))
        for mount in container.get("volumeMounts") or []
    }
    mounts[container.get("terminationMessagePath", TERMINATION_PATH)] = str(termination)
    return dict(sorted(mounts.items(), key=lambda entry: len(entry[0]), reverse=True))


def plan_launch(
    container: Document,
    *,
    image: Image,
    variables: Mapping[str, str],
    mounts: Mapping[str, str],
    base: Mapping[str, str],
    hosts: Path,
    hostname: str,
) -> Launch:
    """The process that stands for the container.

    A mount path at the beginning of a word in command, arguments or variables becomes its folder
    here: a process shares this machine's root. `base` is what every container finds set.
    """
    command = container.get("command") or list(image.entrypoint)
    words = [*command, *(container.get("args") or [])]
    workdir = container.get("workingDir")
    return Launch(
        command=(
            *(sys.executable, "-S", "-E", namespaces.__file__, str(hosts), hostname),
            *(relocate(expand(word, variables), mounts) for word in words),
        ),
        environment={
            **base,
            "HOSTNAME": hostname,
            **{name: relocate(value, mounts) for name, value in variables.items()},
        },
        workdir=Path(relocate(workdir, mounts)) if workdir else image.workdir,
    )


def hosts_file(
    pod: Document, hostname: str, address: str, names: Mapping[str, Sequence[str]]
) -> str:
    """As the real kubelet writes it, with what cluster DNS would have said."""
    lines = [("127.0.0.1", "localhost"), (address, hostname)]
    for alias in pod["spec"].get("hostAliases") or []:
        lines += [(alias["ip"], name) for name in alias.get("hostnames") or []]
    lines += [(one, name) for name, addresses in names.items() for one in addresses]
    return "".join(f"{one}\t{name}\n" for one, name in lines)


def refuse_what_is_missing(pod: Document) -> None:
    """Raises NotLocal for what would silently not happen."""
    for container in pod["spec"].get("initContainers") or []:
        if container.get("restartPolicy") == "Always":
            raise NotLocal(
                f"init container {container['name']!r} is a sidecar (restartPolicy: Always), which "
                "does not run here; make it one of spec.containers"
            )
    for container in pod["spec"]["containers"]:
        unknown = {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"} & set(container)
        if unknown:
            raise NotLocal(
                f"container {container['name']!r} has a {sorted(unknown)[0]}, which nothing here "
                "would carry out; leave it out to run the pod on this machine"
            )
