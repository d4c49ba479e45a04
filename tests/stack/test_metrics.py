"""Prometheus, Grafana and what belongs to them: what the chart is told, and when things come."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pulumi_kubernetes as k8s
import pytest

from components.cloud import AlertReceiver, CsiVolume, Disk, Pool
from components.manifest import read_manifest
from components.platform import metrics_values
from components.platform.alert_routes import alert_config
from components.platform.metrics_stack import dashboard_files
from components.platform.metrics_values import MetricsShape, chart_values
from components.platform.observability import Observability, ObservabilityArgs
from spotrain import contract
from stacks.platform_schema import Observability as Wanted
from stacks.recorder import MASK, Recording
from tests.stack.platform_parts import cloud

VOLUME = "kubernetes:core/v1:PersistentVolume"
RELEASE = "kubernetes:helm.sh/v3:Release"
KEYS = Path(__file__).parent / "chart_keys.txt"
PLAIN = MetricsShape(days=15, disk_gib=20, own_disk=False, receiver=None)
RECEIVER = AlertReceiver(kind="webhook_configs", settings={"url": "https://example.com"})
OPEN = ("affinity", "config", "grafana.ini", "resources", "storageSpec")
"""Below these the chart takes anything."""
POOL = Pool(
    name="t4",
    gpu="t4",
    gpus_per_node=1,
    capacity="spot",
    zones=("a",),
    instance_types=("g4dn.xlarge",),
    max_nodes=1,
    notice_seconds=90,
    spot_usd_per_hour=0.2,
    on_demand_usd_per_hour=0.5,
)
NO_GPU = Pool(**{**POOL.__dict__, "gpu": contract.NO_GPU, "gpus_per_node": 0})


def watch(build: Any, wanted: Wanted, *pools: Pool, **changes: Any) -> Recording:
    """The component on a cloud that has next to nothing."""

    def program() -> None:
        kube, node = k8s.Provider("kube"), k8s.core.v1.Namespace("node")
        made = cloud(kube, **{"pools": pools, "ready": (node,), **changes})
        Observability("watch", ObservabilityArgs(wanted=wanted, cloud=made))

    recording: Recording = build(program)
    return recording


@pytest.fixture
def made(build: Any) -> Recording:
    return watch(build, Wanted(metrics=True), POOL)


def keys(values: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Every key that the chart reads, as a.b.c"""
    for key, value in values.items():
        here = f"{path}.{key}" if path else key
        yield here
        if isinstance(value, Mapping) and key not in OPEN:
            yield from keys(value, here)


# --- What the chart is told ---


def test_only_keys_are_set_that_were_looked_up_in_the_chart() -> None:
    """A misspelled value changes nothing, and nobody would see it. The list says how to check."""
    lines = KEYS.read_text().splitlines()
    known = {line for line in lines if not line.startswith("#")}
    assert set(keys(chart_values(PLAIN))) == known
    assert f"{metrics_values.CHART} {metrics_values.VERSION}" in lines[0]


def test_metrics_are_kept_as_long_as_the_stack_file_says_and_fit_their_disk() -> None:
    shape = MetricsShape(days=7, disk_gib=50, own_disk=False, receiver=None)
    spec = chart_values(shape)["prometheus"]["prometheusSpec"]
    assert spec["retention"] == "7d"
    assert spec["retentionSize"] == "42GiB"
    claim = spec["storageSpec"]["volumeClaimTemplate"]["spec"]
    assert claim["resources"]["requests"] == {"storage": "50Gi"}


def test_on_a_disk_of_the_cloud_the_claim_finds_its_volume_and_nothing_else(
    build: Any, find: Any
) -> None:
    def program() -> None:
        kube, driver = k8s.Provider("kube"), k8s.core.v1.Namespace("driver")
        disk = Disk(
            source=CsiVolume(driver="disks.example", handle="vol-1", fs_type="ext4"),
            zone="a",
            size_gib=20,
            ready=(driver,),
        )
        made = cloud(kube, metrics_disk=disk)
        Observability("watch", ObservabilityArgs(wanted=Wanted(metrics=True), cloud=made))

    made = build(program)
    volume, release = find.one(made, VOLUME), find.one(made, RELEASE)
    stored = release.inputs["values"]["prometheus"]["prometheusSpec"]["storageSpec"]
    claim = stored["volumeClaimTemplate"]["spec"]
    assert claim["volumeName"] == volume.inputs["metadata"]["name"]
    assert claim["storageClassName"] == volume.inputs["spec"]["storageClassName"] == ""
    assert claim["resources"]["requests"] == volume.inputs["spec"]["capacity"]
    assert claim["accessModes"] == volume.inputs["spec"]["accessModes"]
    assert volume.inputs["spec"]["csi"]["fsType"] == "ext4"
    assert "'values': ['a']" in str(volume.inputs["spec"]["nodeAffinity"])
    assert any(urn.endswith("::driver") for urn in volume.depends_on)


def test_without_a_disk_of_the_cloud_the_clusters_default_is_used() -> None:
    spec = chart_values(PLAIN)["prometheus"]["prometheusSpec"]
    assert "storageClassName" not in spec["storageSpec"]["volumeClaimTemplate"]["spec"]


def test_the_disk_goes_with_the_release() -> None:
    spec = chart_values(PLAIN)["prometheus"]["prometheusSpec"]
    assert spec["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] == "Delete"


def test_grafana_asks_for_the_password_and_reads_only_its_own_namespace() -> None:
    grafana = chart_values(PLAIN)["grafana"]
    assert grafana["admin"]["existingSecret"] == metrics_values.ADMIN_SECRET
    assert grafana["grafana.ini"]["auth.anonymous"] == {"enabled": False}
    assert grafana["rbac"] == {"namespaced": True}
    for kind in ("dashboards", "datasources"):
        assert grafana["sidecar"][kind]["searchNamespace"] == contract.MONITORING_NAMESPACE
        assert grafana["sidecar"][kind]["resource"] == "configmap"


def test_nothing_is_open_to_the_outside() -> None:
    text = str(chart_values(PLAIN))
    assert "LoadBalancer" not in text
    assert "NodePort" not in text
    assert "ingress" not in text.lower()


def test_state_metrics_read_no_secret() -> None:
    assert "secrets" in chart_values(PLAIN)["kube-state-metrics"]["collectorsExclude"]


def test_everything_asks_for_room_and_has_a_limit_of_memory() -> None:
    def rooms(values: Mapping[str, Any]) -> Iterator[Any]:
        for key, value in values.items():
            if key == "resources" and "requests" in value:
                yield value
            elif isinstance(value, Mapping):
                yield from rooms(value)

    found = [room for room in rooms(chart_values(PLAIN)) if "storage" not in room["requests"]]
    assert len(found) == 8
    assert all(room["limits"]["memory"] for room in found)


def test_without_a_receiver_nobody_is_told() -> None:
    config = alert_config(None)
    assert config["receivers"] == [{"name": "nobody"}]
    assert config["route"]["routes"] == []


def test_only_what_says_so_itself_reaches_people() -> None:
    config = alert_config(RECEIVER)
    assert config["route"]["receiver"] == "nobody"
    for route in config["route"]["routes"]:
        assert route["matchers"][0].startswith("notify = ")
    told = [each for each in config["receivers"] if each["name"] != "nobody"]
    assert all(each["webhook_configs"][0]["url"] == "https://example.com" for each in told)


def test_good_news_is_not_silenced() -> None:
    """By default the chart mutes whatever only informs."""
    assert alert_config(RECEIVER)["inhibit_rules"] == []


# --- What is made, and in which order ---


def test_nothing_is_made_unless_asked_for(build: Any) -> None:
    recording = watch(build, Wanted(), POOL)
    assert [r.name for r in recording.resources if r.custom] == ["kube", "node"]


def test_the_chart_is_pinned_and_comes_from_its_makers(made: Recording, find: Any) -> None:
    release = find.one(made, RELEASE).inputs
    assert release["chart"] == "kube-prometheus-stack"
    assert release["version"] == metrics_values.VERSION
    assert release["repositoryOpts"] == {"repo": metrics_values.REPOSITORY}
    assert release["namespace"] == contract.MONITORING_NAMESPACE


def test_what_the_release_defines_is_made_after_it_and_removed_before_it(made: Recording) -> None:
    ours = [r for r in made.resources if "monitoring.coreos.com" in r.type]
    assert {r.inputs["kind"] for r in ours} == {"PodMonitor", "PrometheusRule"}
    assert len(ours) == 4
    for resource in ours:
        assert any("Release::metrics-release" in urn for urn in resource.depends_on), resource.name


def test_the_namespace_goes_last_and_the_nodes_after_it(made: Recording, find: Any) -> None:
    release = " ".join(find.one(made, RELEASE).depends_on)
    assert "Namespace::metrics-namespace" in release
    assert "Namespace::node" in release
    namespace = find.one(made, "kubernetes:core/v1:Namespace", "metrics-namespace")
    assert any(urn.endswith("::node") for urn in namespace.depends_on)


def test_alertmanager_starts_after_the_right_to_tell_people(build: Any, find: Any) -> None:
    def program() -> None:
        kube = k8s.Provider("kube")
        right = k8s.core.v1.Namespace("right")
        receiver = AlertReceiver(kind="webhook_configs", settings={"url": "x"}, ready=(right,))
        made = cloud(kube, alert_receiver=receiver)
        Observability("watch", ObservabilityArgs(wanted=Wanted(metrics=True), cloud=made))

    release = find.one(build(program), RELEASE)
    assert any(urn.endswith("::right") for urn in release.depends_on)


def test_the_password_is_nobodys_choice_and_nowhere_to_be_read(made: Recording, find: Any) -> None:
    password = find.one(made, "random:index/randomPassword:RandomPassword").inputs
    assert password["length"] >= 24
    secret = find.one(made, "kubernetes:core/v1:Secret").inputs
    assert secret["metadata"]["name"] == metrics_values.ADMIN_SECRET
    assert secret["stringData"] == MASK or secret["stringData"]["admin-password"] == MASK


def test_every_dashboard_is_where_grafana_looks_for_it(made: Recording) -> None:
    maps = [
        r.inputs
        for r in made.of_type("kubernetes:core/v1:ConfigMap")
        if metrics_values.DASHBOARD_LABEL in r.inputs["metadata"].get("labels", {})
    ]
    files = {file.name: file.read_text() for file in dashboard_files()}
    assert {name: text for each in maps for name, text in each["data"].items()} == files
    assert {each["metadata"]["namespace"] for each in maps} == {contract.MONITORING_NAMESPACE}


def test_nothing_in_the_namespace_may_touch_its_node(made: Recording, find: Any) -> None:
    namespace = find.one(made, "kubernetes:core/v1:Namespace", "metrics-namespace").inputs
    assert namespace["metadata"]["labels"] == {"pod-security.kubernetes.io/enforce": "restricted"}
    exporter = chart_values(PLAIN)["prometheus-node-exporter"]["namespaceOverride"]
    assert exporter != contract.MONITORING_NAMESPACE


# --- GPUs ---


def test_gpus_are_watched_where_there_are_any(build: Any, made: Recording) -> None:
    without = watch(build, Wanted(metrics=True), NO_GPU)
    assert len(made.of_type("kubernetes:apps/v1:DaemonSet")) == 1
    assert without.of_type("kubernetes:apps/v1:DaemonSet") == []


def test_the_exporter_runs_on_gpu_nodes_and_on_no_other() -> None:
    (daemon,) = (d for d in read_manifest("gpu-metrics.yaml") if d["kind"] == "DaemonSet")
    pod = daemon["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {contract.LABEL_ROLE: contract.ROLE_WORKER}
    rules = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    ((expression,),) = (term["matchExpressions"] for term in rules["nodeSelectorTerms"])
    assert expression == {"key": contract.LABEL_GPU, "operator": "NotIn", "values": ["cpu"]}
    assert expression["values"] == [contract.NO_GPU]
    taints = {t["key"] for t in pod["tolerations"]}
    assert contract.GPU_TAINT_KEY in taints


def test_the_exporter_has_no_right_over_its_node() -> None:
    (daemon,) = (d for d in read_manifest("gpu-metrics.yaml") if d["kind"] == "DaemonSet")
    pod = daemon["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert "@sha256:" in container["image"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert all(mount["readOnly"] for mount in container["volumeMounts"])


def test_another_list_of_counters_reaches_pods_that_run() -> None:
    """The exporter reads its list once, so another list has another name, and pods are replaced."""
    settings, daemon = read_manifest("gpu-metrics.yaml")
    content = settings["data"]["counters.csv"].encode()
    name = f"gpu-metrics-{hashlib.sha256(content).hexdigest()[:8]}"
    volumes = daemon["spec"]["template"]["spec"]["volumes"]
    assert settings["metadata"]["name"] == name
    assert [v["configMap"]["name"] for v in volumes if "configMap" in v] == [name]


def test_its_counters_need_no_right_over_its_node() -> None:
    """NVIDIA's profiling counters, DCGM_FI_PROF_*, would need SYS_ADMIN."""
    (settings,) = (d for d in read_manifest("gpu-metrics.yaml") if d["kind"] == "ConfigMap")
    counters = settings["data"]["counters.csv"].splitlines()
    assert len(counters) > 5
    assert not [line for line in counters if line.startswith("DCGM_FI_PROF")]


# --- What Prometheus reads ---


@pytest.mark.parametrize(
    ("monitor", "namespace"),
    [
        ("spotrain-controller", contract.SYSTEM_NAMESPACE),
        ("cluster-autoscaler", "kube-system"),
        ("gpu-metrics", "kube-system"),
    ],
)
def test_a_monitor_looks_where_its_pods_are(monitor: str, namespace: str) -> None:
    (found,) = (d for d in read_manifest("monitors.yaml") if d["metadata"]["name"] == monitor)
    assert found["metadata"]["namespace"] == contract.MONITORING_NAMESPACE
    assert found["spec"]["namespaceSelector"] == {"matchNames": [namespace]}
    assert found["spec"]["selector"] == {"matchLabels": {"app.kubernetes.io/name": monitor}}
    (endpoint,) = found["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] == "metrics"


def test_every_monitor_finds_a_pod_with_the_port_that_it_asks_for(
    recording: Recording, find: Any
) -> None:
    """In every stack: the labels and the port are those of pods that the program makes."""
    pods = {
        template["metadata"]["labels"]["app.kubernetes.io/name"]: {
            port.get("name")
            for container in template["spec"]["containers"]
            for port in container.get("ports", [])
        }
        for body in find.objects(recording).values()
        if (template := body.get("spec", {}).get("template", {})).get("metadata", {}).get("labels")
        and "app.kubernetes.io/name" in template["metadata"]["labels"]
    }
    assert "metrics" in pods[contract.CONTROLLER_NAME]
    for monitor in ("cluster-autoscaler", "gpu-metrics"):
        assert "metrics" in pods.get(monitor, {"metrics"})


def test_samples_about_jobs_keep_the_namespace_and_job_that_they_name() -> None:
    monitors = {d["metadata"]["name"]: d["spec"] for d in read_manifest("monitors.yaml")}
    for name in ("spotrain-controller", "gpu-metrics"):
        (endpoint,) = monitors[name]["podMetricsEndpoints"]
        assert endpoint["honorLabels"] is True
