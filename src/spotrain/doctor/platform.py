"""Checks of what the stack has put into the cluster."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from pydantic.alias_generators import to_camel

from spotrain import contract
from spotrain.clouds.zones import gcp_region
from spotrain.doctor.finding import Finding, fail, passed, warn
from spotrain.job import Pool, Price
from spotrain.job.spec import Spec

Object = Mapping[str, Any]
OLD_PRICE: Final = timedelta(hours=6)
PULUMI: Final = "pulumi up --refresh"
PLUGIN: Final = "nvidia-device-plugin"
GOOGLES_PLUGIN: Final = "k8s-app=nvidia-gpu-device-plugin"


def check_definition(definition: Object) -> Finding:
    """Is it there, served, and as new as this command line?"""
    check = "job definition"
    versions = (definition.get("spec") or {}).get("versions") or ()
    served = next((v for v in versions if v["name"] == contract.VERSION and v.get("served")), None)
    if served is None:
        there = ", ".join(version["name"] for version in versions) or "none"
        said = f"{contract.KIND} {contract.VERSION} is not served (versions: {there})."
        return fail(check, said, f"{PULUMI}, or kubectl apply -f k8s/crd.yaml")
    schema = (served.get("schema") or {}).get("openAPIV3Schema") or {}
    known = _below(_below(schema, "spec"), "").keys()
    missing = sorted({to_camel(name) for name in _own_fields()} - known)
    if known and missing:
        said = f"it is older than this command line: it does not know {', '.join(missing)}."
        return warn(check, said, f"{PULUMI}, or use the platform's version of spotrain")
    return passed(check, f"{contract.KIND} {contract.VERSION} is served.")


def check_controller(deployment: Object) -> Finding:
    check = "controller"
    look = f"kubectl -n {contract.SYSTEM_NAMESPACE} describe deployment {contract.CONTROLLER_NAME}"
    if not deployment:
        return fail(check, "it is not installed: no job starts.", PULUMI)
    wanted = (deployment.get("spec") or {}).get("replicas", 1)
    status = deployment.get("status") or {}
    ready, updated = status.get("readyReplicas", 0), status.get("updatedReplicas", 0)
    image = controller_image(deployment)
    if not ready:
        return fail(check, f"none of its {wanted} replicas is ready: no job starts.", look)
    said = f"{ready} of {wanted} replicas are ready, of {image or 'an unknown image'}."
    if ready < wanted:
        return warn(check, f"{said} Nobody takes over when one goes.", look)
    if updated < wanted:
        return warn(check, f"{said} {wanted - updated} are of an older version.", look)
    return passed(check, said)


def controller_image(deployment: Object) -> str:
    return _image(((deployment.get("spec") or {}).get("template") or {}).get("spec") or {})


def check_archive(pods: Sequence[Object], namespace: str, *, controller_image: str) -> Finding:
    """By its pods, which whoever forwards a port to it may see. `controller_image`: empty where it
    is not known; both are made of one image."""
    check, fix = "archive", f"kubectl -n {namespace} describe deployment {contract.ARCHIVE_NAME}"
    staying = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
    without = "Jobs run; logs, code and the whole ledger are out of reach."
    if not staying:
        return warn(check, f"no pod of it is in {namespace}. {without}", PULUMI)
    ready = [pod for pod in staying if _is_ready(pod)]
    if not ready:
        phase = (staying[0].get("status") or {}).get("phase", "Pending")
        return warn(check, f"its pod is {phase} and not ready. {without}", fix)
    image = _image(ready[0].get("spec") or {})
    if controller_image and image != controller_image:
        said = f"it runs {image}, not the controller's image: one of them was not updated."
        return warn(check, said, PULUMI)
    return passed(check, "it is ready, and of the controller's version.")


def _image(pod: Object) -> str:
    return next((str(each.get("image", "")) for each in pod.get("containers") or ()), "")


def unreadable(check: str, error: str) -> Finding:
    return fail(check, f"it cannot be read: {' '.join(error.split())}", PULUMI)


def check_pools(pools: Sequence[Pool]) -> Finding:
    if not pools:
        said = f"the ConfigMap {contract.POOLS_CONFIGMAP} names none: no job finds a place."
        return fail("pools", said, PULUMI)
    return passed("pools", f"{', '.join(pool.name for pool in pools)}.")


def check_prices(prices: Sequence[Price], pools: Sequence[Pool], *, now: datetime) -> Finding:
    spot = [p for p in pools if p.capacity == contract.CAPACITY_SPOT and p.instance_types]
    fresh = [price for price in prices if now - price.at <= OLD_PRICE]
    if not spot or fresh:
        return passed("spot prices", f"{len(fresh)} are fresh." if spot else "no pool has any.")
    newest = max((price.at for price in prices), default=None)
    said = f"the newest is of {newest:%Y-%m-%d %H:%M} UTC." if newest else "none was ever told."
    look = f"kubectl -n {contract.SYSTEM_NAMESPACE} get cronjob {contract.PRICES_REFRESHER}"
    return warn("spot prices", f"{said} Costs are reckoned with the pools' own.", look)


def check_storage(claims: Sequence[Object], namespace: str) -> Finding:
    check, name = "storage", contract.VOLUME_CLAIM
    claim = next((each for each in claims if each["metadata"]["name"] == name), None)
    if claim is None:
        return fail(check, f"the claim {name} is not in {namespace}: jobs cannot save.", PULUMI)
    phase = (claim.get("status") or {}).get("phase", "Pending")
    if phase != "Bound":
        said = f"the claim {name} has no volume ({phase}): jobs that mount it do not start."
        return fail(check, said, f"kubectl -n {namespace} describe pvc {name}")
    return passed(check, f"the claim {name} is bound.")


def check_gpu_plugin(
    daemon_set: Object | None, nodes: Sequence[Object], pools: Sequence[Pool]
) -> Finding:
    """Without a plugin a node's GPUs do not count. Some clouds bring one of another name; and who
    may not see it (None) sees what nodes offer."""
    check = "GPU plugin"
    on_google = any(gcp_region(zone) for pool in pools for zone in pool.zones)
    label = GOOGLES_PLUGIN if on_google else f"app.kubernetes.io/name={PLUGIN}"
    look = f"kubectl -n kube-system get pods -l {label}"
    if not any(pool.gpus_per_node for pool in pools):
        return passed(check, "no pool has GPUs.")
    bare = [node["metadata"]["name"] for node in nodes if _lacks_gpus(node, pools)]
    if bare:
        return fail(check, f"{', '.join(bare)}: ready, without GPUs that count.", look)
    if daemon_set:
        status = daemon_set.get("status") or {}
        wanted, ready = status.get("desiredNumberScheduled", 0), status.get("numberReady", 0)
        if ready < wanted:
            return fail(check, f"it is ready on {ready} of {wanted} GPU nodes.", look)
        return passed(check, f"it is ready on all of {wanted} GPU nodes.")
    if any(_gpus(node) for node in nodes):
        return passed(check, "nodes offer their GPUs.")
    if on_google:
        return passed(check, "Google brings one with each GPU node.")
    if daemon_set is None:
        said = "not looked at: you may not read it, and there is no GPU node now."
        return warn(check, said, "an administrator sees it")
    said = f"there is no DaemonSet {PLUGIN} in kube-system, and no node yet that shows another."
    return warn(check, said, "kubectl apply -f k8s/device-plugin.yaml, unless the cloud has one")


def _own_fields() -> Iterator[str]:
    """What people write in a spec, less what only old jobs have."""
    for name, info in Spec.model_fields.items():
        if not info.alias or info.alias == to_camel(name):
            yield name


def _below(schema: Object, name: str) -> Object:
    properties = schema.get("properties") or {}
    found: Object = properties.get(name) or {} if name else properties
    return found


def _lacks_gpus(node: Object, pools: Sequence[Pool]) -> bool:
    name = (node["metadata"].get("labels") or {}).get(contract.LABEL_POOL)
    ready = _is_ready(node)
    has_gpus = any(pool.name == name and pool.gpus_per_node for pool in pools)
    return ready and has_gpus and not _gpus(node)


def _is_ready(found: Object) -> bool:
    """A node, or a pod."""
    conditions = (found.get("status") or {}).get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _gpus(node: Object) -> int:
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    return int(allocatable.get(contract.GPU_RESOURCE, 0))
