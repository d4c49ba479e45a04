"""What a benchmark needs beside the project: its peers, and the binaries of a cluster."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from bench.parts import Part

FOLDER: Final = Path("build/bench")
"""Of the peers: apart from the environment that the project is tested in."""


def environment_for(part: Part) -> tuple[dict[str, str], str]:
    """The environment that a benchmark runs in, and what it lacks on this machine ("" if nothing).

    Installs the peers, and builds etcd, kube-apiserver and kubectl where they are needed and were
    not yet. A kubectl of the machine stands in where none can be built.
    """
    path = os.pathsep.join([".", str(FOLDER)])
    environment = {**os.environ, "PYTHONPATH": path}
    if part.peers and not _install(part.peers):
        return environment, f"what {part.peers} names cannot be installed; is there a network?"
    if part.needs_cluster and "KUBEBUILDER_ASSETS" not in environment:
        tools = _built("tools/cluster/build")
        if not tools:
            return environment, "needs etcd and kube-apiserver: set KUBEBUILDER_ASSETS, or have Go"
        environment["KUBEBUILDER_ASSETS"] = tools
    if part.needs_kubectl:
        if kubectl := _built("tools/kubectl/build"):
            environment["PATH"] = os.pathsep.join([kubectl, environment["PATH"]])
        elif shutil.which("kubectl") is None:
            return environment, "needs kubectl: have it on the PATH, or have Go"
    return environment, ""


def _install(lock: str) -> bool:
    command = [str(Path(sys.executable).with_name("uv")), "pip", "install", "-q"]
    command += ["--python", sys.executable, "--target", str(FOLDER), "--require-hashes", "-r", lock]
    return subprocess.run(command).returncode == 0


def _built(script: str) -> str:
    """The folder of binaries that a script builds and prints; "" where it cannot."""
    if shutil.which("go") is None:
        return ""
    built = subprocess.run([script], stdout=subprocess.PIPE, text=True)
    return built.stdout.strip().splitlines()[-1] if built.returncode == 0 else ""
