"""Nodes on Google Cloud: what jobs and GKE are told about them is the same."""

from collections.abc import Iterator, Mapping
from typing import Any

from components.gcp.nodes.gpu_pool import CRITICAL_SECONDS, SHUTDOWN_SECONDS
from spotrain import contract
from stacks.gcp.schema import GcpSettings
from stacks.recorder import Registration
from tests.stack.invariants.registry import Built, offered_pools, on_gcp, workloads

POOL, PLANE = "gcp:container/nodePool:NodePool", "gcp:container/cluster:Cluster"
LOCAL_SSDS = {
    "a2-ultragpu-1g": 1,
    "a2-ultragpu-2g": 2,
    "a2-ultragpu-4g": 4,
    "a2-ultragpu-8g": 8,
    "a3-highgpu-1g": 2,
    "a3-highgpu-2g": 4,
    "a3-highgpu-4g": 8,
    "a3-highgpu-8g": 16,
}
"""Machine type -> disks that it always has; cloud.google.com/compute/docs/disks/local-ssd."""
EFFECTS = {"NO_SCHEDULE": "NoSchedule"}


def gpu_pools(built: Built) -> list[Registration]:
    return [pool for pool in built.of_type(POOL) if pool.name.startswith("gpu-")]


@on_gcp
def no_gpu_group_spans_zones(built: Built) -> Iterator[str]:
    for pool in gpu_pools(built):
        if len(pool.inputs["nodeLocations"]) != 1:
            yield f"{pool.name} is in {pool.inputs['nodeLocations']}"


@on_gcp
def every_gpu_group_is_tainted(built: Built) -> Iterator[str]:
    wanted = (contract.GPU_TAINT_KEY, contract.GPU_TAINT_VALUE, contract.GPU_TAINT_EFFECT)
    for pool in gpu_pools(built):
        taints = pool.inputs["nodeConfig"].get("taints", [])
        told = [(t["key"], t["value"], EFFECTS.get(t["effect"])) for t in taints]
        if wanted not in told:
            yield f"{pool.name} has taints {told}"


@on_gcp
def jobs_are_offered_the_groups_that_exist(built: Built) -> Iterator[str]:
    pools = {pool.name: pool for pool in gpu_pools(built)}
    for offered in offered_pools(built):
        for zone in offered["zones"]:
            name = f"gpu-{offered['name']}-{zone}"
            if name not in pools:
                yield f"{name} is offered and does not exist"
                continue
            yield from _differences(offered, zone, pools.pop(name))
    yield from (f"{name} exists and is not offered" for name in pools)


def _differences(offered: Mapping[str, Any], zone: str, pool: Registration) -> Iterator[str]:
    node = pool.inputs["nodeConfig"]
    (accelerator,) = node["guestAccelerators"]
    spot = node["spot"]
    told = {
        "name": node["labels"].get(contract.LABEL_POOL),
        "gpu": node["labels"].get(contract.LABEL_GPU),
        "capacity": node["labels"].get(contract.LABEL_CAPACITY),
        "instanceTypes": [node["machineType"]],
        "gpusPerNode": accelerator["count"],
        "maxNodes": pool.inputs["autoscaling"]["totalMaxNodeCount"],
    }
    for key, value in told.items():
        if offered[key] != value:
            yield f"{pool.name}: {key} is {value}, jobs are told {offered[key]}"
    if spot is not (offered["capacity"] == contract.CAPACITY_SPOT):
        yield f"{pool.name}: spot is {spot}, jobs are told {offered['capacity']}"
    if pool.inputs["nodeLocations"] != [zone]:
        yield f"{pool.name} is in {pool.inputs['nodeLocations']}, jobs are told {zone}"


@on_gcp
def workers_of_spot_nodes_get_the_notice_that_jobs_are_told_of(built: Built) -> Iterator[str]:
    offered = {pool["name"]: pool["noticeSeconds"] for pool in offered_pools(built)}
    for pool in gpu_pools(built):
        node = pool.inputs["nodeConfig"]
        kubelet = node["kubeletConfig"]
        whole = kubelet.get("shutdownGracePeriodSeconds")
        critical = kubelet.get("shutdownGracePeriodCriticalPodsSeconds")
        if not node["spot"]:
            if whole or critical:
                yield f"{pool.name}: Google takes a shutdown's seconds for spot nodes only"
        elif (whole, critical) != (SHUTDOWN_SECONDS, CRITICAL_SECONDS):
            yield f"{pool.name}: {whole} seconds of notice, {critical} of them for critical pods"
        elif offered[node["labels"][contract.LABEL_POOL]] != whole - critical:
            yield f"{pool.name}: jobs are told of {offered} seconds"


@on_gcp
def every_gpu_group_starts_at_zero_and_keeps_the_autoscalers_size(built: Built) -> Iterator[str]:
    for pool in gpu_pools(built):
        scaling = pool.inputs["autoscaling"]
        if pool.inputs["initialNodeCount"] or scaling["totalMinNodeCount"]:
            yield f"{pool.name} starts with {pool.inputs['initialNodeCount']}, {scaling}"
    for pool in built.of_type(POOL):
        ignored = pool.inputs.get("ignoreNodeCountChanges")
        if "nodeCount" in pool.inputs or not ignored:
            yield f"{pool.name}: a count beside the autoscaler's"
        if "initialNodeCount" not in pool.ignore_changes:
            yield f"{pool.name}: another number to begin with would make it anew"


@on_gcp
def disks_that_come_with_a_machine_are_named(built: Built) -> Iterator[str]:
    """GKE names them itself otherwise, which the next `pulumi up` takes for a change."""
    for pool in gpu_pools(built):
        node = pool.inputs["nodeConfig"]
        named = node.get("ephemeralStorageLocalSsdConfig", {}).get("localSsdCount", 0)
        wanted = LOCAL_SSDS.get(node["machineType"], 0)
        if named != wanted:
            yield f"{pool.name}: {named} disks, a {node['machineType']} has {wanted}"


@on_gcp
def a_gpu_group_of_another_machine_type_is_another_group(built: Built) -> Iterator[str]:
    for pool in gpu_pools(built):
        if "nodeConfig.machineType" not in pool.replace_on_changes:
            yield f"{pool.name}: another machine type has no effect, or half of one"


@on_gcp
def every_gpu_group_brings_its_driver(built: Built) -> Iterator[str]:
    for pool in gpu_pools(built):
        (accelerator,) = pool.inputs["nodeConfig"]["guestAccelerators"]
        driver = accelerator.get("gpuDriverInstallationConfig", {}).get("gpuDriverVersion")
        if driver != "DEFAULT":
            yield f"{pool.name}: driver {driver}"


@on_gcp
def an_update_of_a_full_group_is_waited_for(built: Built) -> Iterator[str]:
    """GKE takes one node after the other, and waits for the pods of each."""
    for pool in built.of_type(POOL):
        nodes = pool.inputs["autoscaling"]["totalMaxNodeCount"]
        if int(pool.update_timeout.removesuffix("m") or 30) < 15 * nodes:
            yield f"{pool.name}: {nodes} nodes, {pool.update_timeout or 'half an hour'}"


@on_gcp
def no_pod_gets_the_nodes_own_identity(built: Built) -> Iterator[str]:
    for pool in built.of_type(POOL):
        node = pool.inputs["nodeConfig"]
        if node.get("workloadMetadataConfig", {}).get("mode") != "GKE_METADATA":
            yield f"{pool.name}: pods are answered as the node"
        if node.get("metadata", {}).get("disable-legacy-endpoints") != "true":
            yield f"{pool.name}: answers the old way, without a header"
        if not node.get("serviceAccount", "").startswith("node-account"):
            yield f"{pool.name}: nodes are {node.get('serviceAccount')}"


@on_gcp
def nodes_have_no_public_address_and_boot_what_google_signed(built: Built) -> Iterator[str]:
    (plane,) = built.of_type(PLANE)
    if plane.inputs.get("enableShieldedNodes") is not True:
        yield "nodes prove nothing to the control plane"
    for pool in built.of_type(POOL):
        if not pool.inputs.get("networkConfig", {}).get("enablePrivateNodes"):
            yield f"{pool.name} has public addresses"
        node = pool.inputs["nodeConfig"]
        shielded = node.get("shieldedInstanceConfig", {})
        if not (shielded.get("enableSecureBoot") and shielded.get("enableIntegrityMonitoring")):
            yield f"{pool.name} boots anything"
        if node["kubeletConfig"].get("insecureKubeletReadonlyPortEnabled") != "FALSE":
            yield f"{pool.name} tells what runs on it to whoever asks"


@on_gcp
def nodes_wait_for_what_they_need_to_join(built: Built) -> Iterator[str]:
    for pool in built.of_type(POOL):
        needed = " ".join(pool.depends_on)
        parts = ("network-nat", "network-nodes", "IAMMember::node-account")
        yield from (f"{pool.name} does not wait for {part}" for part in parts if part not in needed)


@on_gcp
def every_workload_waits_for_a_node_to_run_on(built: Built) -> Iterator[str]:
    for workload in workloads(built):
        if not any(urn.endswith("::managers-pool") for urn in workload.depends_on):
            yield f"{workload.name} may be made before, and removed after, the managers"


@on_gcp
def managers_are_on_demand_in_two_zones_without_a_taint(built: Built) -> Iterator[str]:
    pool = built.named("managers-pool").inputs
    node = pool["nodeConfig"]
    if node.get("spot") or node.get("preemptible") or node.get("taints"):
        yield "managers are spot, or tainted"
    if len(pool["nodeLocations"]) < 2 or pool["autoscaling"]["totalMinNodeCount"] < 2:
        yield "managers are in one zone"


@on_gcp
def a_node_pools_name_fits(built: Built) -> Iterator[str]:
    names = [pool.inputs["name"] for pool in gpu_pools(built)]
    yield from (f"{name} is longer than 40 characters" for name in names if len(name) > 40)
    yield from (f"{name} is taken twice" for name in names if names.count(name) > 1)


@on_gcp
def the_cluster_has_the_stacks_nodes_and_no_others(built: Built) -> Iterator[str]:
    """GKE makes no cluster without a pool of its own, which goes at once; until then its nodes are
    who ours are, as a project may have no default account."""
    (plane,) = built.of_type(PLANE)
    if plane.inputs.get("removeDefaultNodePool") is not True:
        yield "the default pool stays"
    if not plane.inputs.get("nodeConfig", {}).get("serviceAccount", "").startswith("node-account"):
        yield "the default pool's nodes are the project's default account"
    if not {"nodeConfig", "initialNodeCount"} <= set(plane.ignore_changes):
        yield "what Google says of other nodes would make the cluster anew"
    if plane.inputs.get("clusterAutoscaling", {}).get("enabled") is not False:
        yield "GKE makes pools of its own"


@on_gcp
def an_update_takes_a_gpu_node_away_first_and_brings_a_manager_first(built: Built) -> Iterator[str]:
    """More GPU nodes, against quota and bill, or fewer managers, with nowhere to go."""
    for pool in built.of_type(POOL):
        update = pool.inputs.get("upgradeSettings", {})
        told = (update.get("maxSurge"), update.get("maxUnavailable"))
        if told != ((0, 1) if pool.name.startswith("gpu-") else (1, 0)):
            yield f"{pool.name}: {told[0]} nodes more, {told[1]} fewer"


@on_gcp
def versions_are_those_of_the_stack_file(built: Built) -> Iterator[str]:
    """At least; the channel moves them, so a pool that names one would be set back."""
    assert isinstance(built.settings, GcpSettings)
    wanted, (plane,) = built.settings.cluster, built.of_type(PLANE)
    told = (plane.inputs.get("minMasterVersion"), plane.inputs.get("releaseChannel"))
    if told != (wanted.version, {"channel": wanted.channel}):
        yield f"the control plane has {told}"
    for pool in built.of_type(POOL):
        if "version" in pool.inputs:
            yield f"{pool.name} has version {pool.inputs['version']}"
        if pool.inputs.get("management") != {"autoRepair": True, "autoUpgrade": True}:
            yield f"{pool.name} is left behind: {pool.inputs.get('management')}"


@on_gcp
def the_cluster_is_protected_as_the_stack_file_says(built: Built) -> Iterator[str]:
    """Unsaid it is, and no destroy would end."""
    assert isinstance(built.settings, GcpSettings)
    (plane,) = built.of_type(PLANE)
    told = plane.inputs.get("deletionProtection")
    if told is not built.settings.cluster.deletion_protection:
        yield f"deletion protection is {told}"
