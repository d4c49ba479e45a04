"""The standard `restricted` of Pod Security, as a list of what a pod does against it.

Written down once more because the API server's own judge is not to be had without one;
tests/cluster compares the two on every case below.
"""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

Pod = Mapping[str, Any]
VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
}
PROFILES = {"RuntimeDefault", "Localhost"}
SYSCTLS = {
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
}


def violations(pod: Pod) -> list[str]:
    """What a pod's spec does that `restricted` forbids."""
    return [*_of_pod(pod), *(v for c in containers(pod) for v in _of_container(c, pod))]


def containers(pod: Pod) -> list[dict[str, Any]]:
    kinds = ("initContainers", "containers", "ephemeralContainers")
    return [container for kind in kinds for container in pod.get(kind, [])]


def _of_pod(pod: Pod) -> Iterator[str]:
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(key):
            yield key
    for volume in pod.get("volumes", []):
        if unknown := volume.keys() - VOLUMES - {"name"}:
            yield f"volume {volume['name']} is a {', '.join(unknown)}"
    context = pod.get("securityContext", {})
    for sysctl in context.get("sysctls", []):
        if sysctl["name"] not in SYSCTLS:
            yield f"sysctl {sysctl['name']}"
    yield from _of_context(context, "pod")


def _of_container(container: Mapping[str, Any], pod: Pod) -> Iterator[str]:
    name, context = container["name"], container.get("securityContext", {})
    shared = pod.get("securityContext", {})
    if context.get("runAsNonRoot", shared.get("runAsNonRoot")) is not True:
        yield f"{name} may run as root"
    profile = context.get("seccompProfile", shared.get("seccompProfile", {}))
    if profile.get("type") not in PROFILES:
        yield f"{name} has no seccomp profile"
    if context.get("allowPrivilegeEscalation") is not False:
        yield f"{name} may gain privileges"
    capabilities = context.get("capabilities", {})
    if "ALL" not in capabilities.get("drop", []):
        yield f"{name} keeps capabilities"
    if added := set(capabilities.get("add", [])) - {"NET_BIND_SERVICE"}:
        yield f"{name} adds {', '.join(added)}"
    if context.get("privileged"):
        yield f"{name} is privileged"
    if context.get("procMount", "Default") != "Default":
        yield f"{name} sees all of /proc"
    if any(port.get("hostPort") for port in container.get("ports", [])):
        yield f"{name} takes a port of the node"
    for asked in _handlers(container):
        if asked.get("host"):
            yield f"{name} has the kubelet connect to {asked['host']}"
    yield from _of_context(context, name)


def _handlers(container: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What the kubelet connects to for a container."""
    probes = [container.get(f"{kind}Probe", {}) for kind in ("liveness", "readiness", "startup")]
    for handler in [*probes, *container.get("lifecycle", {}).values()]:
        yield handler.get("httpGet", {})
        yield handler.get("tcpSocket", {})


def _of_context(context: Mapping[str, Any], place: str) -> Iterator[str]:
    """What a pod's context and a container's may not say either."""
    if context.get("runAsUser") == 0:
        yield f"{place} runs as root"
    if context.get("windowsOptions", {}).get("hostProcess"):
        yield f"{place} is a process of the node"
    if context.get("appArmorProfile", {}).get("type") == "Unconfined":
        yield f"{place} is not confined by AppArmor"
    options = context.get("seLinuxOptions", {})
    if options.get("user") or options.get("role"):
        yield f"{place} chooses its SELinux user or role"


GOOD: dict[str, Any] = {
    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [
        {
            "name": "main",
            "image": "example/main",
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            },
        }
    ],
    "volumes": [{"name": "scratch", "emptyDir": {}}],
}
OWN = "containers/0/securityContext"
BAD: Mapping[str, tuple[str, object]] = {
    "the network of the node": ("hostNetwork", True),
    "the processes of the node": ("hostPID", True),
    "the memory of the node": ("hostIPC", True),
    "a folder of the node": ("volumes/0", {"name": "etc", "hostPath": {"path": "/etc"}}),
    "a file server named in the pod": (
        "volumes/0",
        {"name": "share", "nfs": {"server": "files", "path": "/"}},
    ),
    "a kernel setting": ("securityContext/sysctls", [{"name": "kernel.msgmax", "value": "1"}]),
    "root allowed": ("securityContext/runAsNonRoot", False),
    "root by number": ("securityContext/runAsUser", 0),
    "root by number in a container": (f"{OWN}/runAsUser", 0),
    "root allowed in a container": (f"{OWN}/runAsNonRoot", False),
    "no seccomp": ("securityContext/seccompProfile", {"type": "Unconfined"}),
    "no seccomp in a container": (f"{OWN}/seccompProfile", {"type": "Unconfined"}),
    "privileges to gain": (f"{OWN}/allowPrivilegeEscalation", True),
    "capabilities kept": (f"{OWN}/capabilities", {}),
    "a capability added": (f"{OWN}/capabilities/add", ["SYS_PTRACE"]),
    "a port of the node": ("containers/0/ports", [{"containerPort": 80, "hostPort": 80}]),
    "a probe of another machine": (
        "containers/0/livenessProbe",
        {"httpGet": {"host": "192.0.2.1", "port": 80}},
    ),
    "a farewell to another machine": (
        "containers/0/lifecycle",
        {"preStop": {"tcpSocket": {"host": "192.0.2.1", "port": 80}}},
    ),
    "an SELinux role": (f"{OWN}/seLinuxOptions", {"role": "sysadm_r"}),
    "no AppArmor": ("securityContext/appArmorProfile", {"type": "Unconfined"}),
}
"""What is wrong -> where in the good pod, and the value that makes it so."""


def changed(path: str, value: object) -> dict[str, Any]:
    """The good pod with one thing changed."""
    pod = copy.deepcopy(GOOD)
    *parents, last = (int(part) if part.isdigit() else part for part in path.split("/"))
    node: Any = pod
    for part in parents:
        node = node[part]
    node[last] = value
    return pod
