"""The questions of a preflight to a Google Cloud project, asked with the rights of whoever is
logged in.

Only reading calls. Each answer stands for itself: a right that is missing spoils no other.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlsplit

from spotrain import contract
from spotrain.clouds.answers import Answer, Refused
from spotrain.clouds.gcp import machine_of
from spotrain.clouds.gcp_api import Google, GoogleError
from spotrain.clouds.project import NodePool, Project, Quota

IMAGE: Final = re.compile(
    r"(?P<location>[a-z0-9-]+)-docker\.pkg\.dev/(?P<project>[a-z][a-z0-9:.-]+)/"
    r"(?P<repository>[a-z0-9-]+)/(?P<name>[^@:]+)(@(?P<digest>sha256:[0-9a-f]{64})|:(?P<tag>[^@]+))?"
)
T = TypeVar("T")


def ask_project(
    google: Google | Refused,
    *,
    project: str,
    region: str,
    server: str,
    markets: Sequence[tuple[str, str]],
    images: Iterable[str],
) -> Project:
    """google: a Refused where nobody is logged in.

    server: the API server's address, by which the cluster is found. markets: (machine type, zone)
    of the pools; of nodes of no pool, the cluster tells. images: references; those in Artifact
    Registry are asked for.
    """
    ask = partial(_answer, google)
    quotas = ask(lambda api: _by_metric(api, f"projects/{project}/regions/{region}"))
    if isinstance(quotas, Refused) and quotas.is_logged_out:
        # Without credentials nothing else need be asked, and waited for.
        return Project(
            id=project,
            region=region,
            quotas=quotas,
            all_regions=quotas,
            types={},
            node_pools=quotas,
            images={},
        )
    node_pools = ask(lambda api: _node_pools(api, project, server))
    others = () if isinstance(node_pools, Refused) else (n for n in node_pools if not n.pool)
    return Project(
        id=project,
        region=region,
        quotas=quotas,
        all_regions=ask(lambda api: _by_metric(api, f"projects/{project}")),
        types={
            (type, zone): ask(partial(_vcpus, project=project, zone=zone, type=type))
            for type, zone in sorted({*markets, *(other.market for other in others)})
            if type and zone
        },
        node_pools=node_pools,
        images={
            reference: ask(partial(_is_there, found=found))
            for reference in images
            if (found := IMAGE.fullmatch(reference))
        },
    )


def _answer(google: Google | Refused, question: Callable[[Google], T]) -> Answer[T]:
    if isinstance(google, Refused):
        return google
    try:
        return question(google)
    except GoogleError as error:
        return Refused(error.code, error.message)


def _by_metric(google: Google, path: str) -> dict[str, Quota]:
    told = google.get("compute", f"compute/v1/{path}").get("quotas") or ()
    return {
        each["metric"]: Quota(
            each["metric"], float(each.get("limit") or 0), float(each.get("usage") or 0)
        )
        for each in told
    }


def _vcpus(google: Google, *, project: str, zone: str, type: str) -> int:
    machine = machine_of(google, project, zone, type)
    return machine.vcpus if machine else 0


def _node_pools(google: Google, project: str, server: str) -> tuple[NodePool, ...]:
    """Of the cluster that answers at `server`."""
    host = urlsplit(server).hostname or server
    told = google.get("container", f"v1/projects/{project}/locations/-/clusters")
    for cluster in told.get("clusters") or ():
        if host in _addresses(cluster):
            return tuple(_node_pool(each) for each in cluster.get("nodePools") or ())
    raise GoogleError("NOT_FOUND", f"no cluster of the project {project} answers at {server}")


def _addresses(cluster: dict[str, Any]) -> tuple[str, ...]:
    ways = cluster.get("controlPlaneEndpointsConfig") or {}
    by_name = (ways.get("dnsEndpointConfig") or {}).get("endpoint") or ""
    by_address = ways.get("ipEndpointsConfig") or {}
    return (
        cluster.get("endpoint") or "",
        by_name,
        by_address.get("privateEndpoint") or "",
        by_address.get("publicEndpoint") or "",
    )


def _node_pool(told: dict[str, Any]) -> NodePool:
    config, scaling = told.get("config") or {}, told.get("autoscaling") or {}
    zones = tuple(told.get("locations") or ())
    most = scaling.get("totalMaxNodeCount") or (scaling.get("maxNodeCount") or 0) * len(zones)
    return NodePool(
        name=told.get("name", ""),
        pool=(config.get("labels") or {}).get(contract.LABEL_POOL, ""),
        zones=zones,
        max_nodes=most if scaling.get("enabled") else None,
        status=told.get("status", ""),
        machine_type=config.get("machineType") or "",
        disk_gb=config.get("diskSizeGb") or 0,
        disk_type=config.get("diskType") or "",
        problems=tuple(_problem(each) for each in told.get("conditions") or ()),
        is_spot=bool(config.get("spot")),
        notice_seconds=_notice(config.get("kubeletConfig") or {}),
    )


def _problem(condition: dict[str, Any]) -> str:
    code = condition.get("code") or condition.get("canonicalCode") or "UNKNOWN"
    said = " ".join(str(condition.get("message") or "").split())
    return f"{code}: {said}" if said else str(code)


def _notice(kubelet: dict[str, Any]) -> int | None:
    whole = kubelet.get("shutdownGracePeriodSeconds")
    if whole is None:
        return None
    return int(whole) - int(kubelet.get("shutdownGracePeriodCriticalPodsSeconds") or 0)


def _is_there(google: Google, *, found: re.Match[str]) -> bool:
    name = quote(found["name"], safe="")
    where = (
        f"v1/projects/{found['project']}/locations/{found['location']}"
        f"/repositories/{found['repository']}"
    )
    if found["digest"]:
        path = f"{where}/dockerImages/{name}@{found['digest']}"
    else:
        path = f"{where}/packages/{name}/tags/{found['tag'] or 'latest'}"
    try:
        google.get("artifactregistry", path)
    except GoogleError as error:
        if error.code == "NOT_FOUND":
            return False
        raise
    return True
