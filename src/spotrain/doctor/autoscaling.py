"""Checks of cluster-autoscaler, by its own account of the groups of nodes that it sees."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from spotrain.clouds.zones import gcp_region
from spotrain.doctor.finding import Finding, fail, passed, warn
from spotrain.explain.autoscaler import CONFIGMAP, NAMESPACE, Autoscaler
from spotrain.job import Pool

STALE: Final = timedelta(minutes=5)
"""It rewrites its status every ten seconds."""
DEPLOYMENT: Final = f"kubectl -n {NAMESPACE} get deployment cluster-autoscaler"
TAGS: Final = "pulumi up --refresh; the groups' tags tell the autoscaler of them"


def check_autoscaler(
    told: Autoscaler | None, pools: Sequence[Pool], *, now: datetime
) -> Iterator[Finding]:
    """Every pool whose machines are rented must have a group in each of its zones."""
    rented = [pool for pool in pools if pool.instance_types]
    if not rented:
        return
    on_google = any(gcp_region(zone) for pool in rented for zone in pool.zones)
    if told is None and on_google:
        said = "Google runs it beside the control plane; no status of it is here."
        yield passed("autoscaler", said)
        return
    if told is None:
        said = f"there is no status of it (ConfigMap {CONFIGMAP} in {NAMESPACE}): no node comes."
        yield fail("autoscaler", said, DEPLOYMENT)
        return
    if told.told_at is None or now - told.told_at > STALE:
        last = f"{told.told_at:%Y-%m-%d %H:%M:%S} UTC" if told.told_at else "never"
        yield fail("autoscaler", f"it has told of itself last: {last}; it is away.", DEPLOYMENT)
        return
    missing = []
    for pool in rented:
        for zone in pool.zones:
            group = told.group(pool.name, zone)
            place = f"{pool.name}, {zone}"
            if group is None:
                missing.append(place)
            elif group.backs_off:
                said = f"it gets no nodes: {group.error or 'the last order failed'}."
                yield warn(f"nodes of {place}", said, "spotrain gpus shows other places")
            elif group.max_size != pool.max_nodes:
                said = f"its group may have {group.max_size} nodes, the pool says {pool.max_nodes}."
                yield warn(f"nodes of {place}", said, "pulumi up")
    if on_google:  # which cuts the names of groups short; the node pools themselves tell more
        yield passed("autoscaler", f"Google runs it; it tells of {len(told.groups)} groups.")
    elif missing:
        said = f"it sees no group of {'; '.join(missing)}: no node comes there."
        yield fail("autoscaler", said, TAGS)
    else:
        yield passed("autoscaler", f"it sees the groups of all {len(rented)} pools.")
