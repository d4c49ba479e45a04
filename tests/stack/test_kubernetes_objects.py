"""Every Kubernetes object is one that the API server of the stack's version accepts."""

from typing import Any

import pytest
import yaml
from kubernetes_validate import ValidationError, validate

from components.manifest import CLASSES, FOLDER, read_manifest
from components.platform.job_namespace import CONTROLLER_JOBS_ROLE
from spotrain import contract
from stacks.platform_schema import PlatformSettings
from stacks.recorder import Recording

FILES = ("crd.yaml", "rbac.yaml", "device-plugin.yaml")
OURS = {"autoscaler", "elastic-jobs", "jobs", "shared"}


def pods(recording: Recording, find: Any) -> dict[str, dict[str, Any]]:
    """The pod template of every workload."""
    return {
        name: body["spec"]["template"]["spec"]
        for name, body in find.objects(recording).items()
        if "template" in body.get("spec", {})
    }


def test_every_object_of_the_program_is_valid_at_the_clusters_version(
    recording: Recording, kubernetes_version: str, find: Any
) -> None:
    objects = find.objects(recording)
    assert len(objects) > 20
    for name, body in objects.items():
        try:
            validate(body, kubernetes_version, strict=True)
        except ValidationError as error:
            pytest.fail(f"{name}: {error.message}")


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("version", ["1.35", "1.36"])
def test_a_file_applies_with_kubectl_as_it_is(file: str, version: str) -> None:
    for body in read_manifest(file):
        validate(body, version, strict=True)


@pytest.mark.parametrize("file", FILES)
def test_a_file_holds_only_kinds_that_the_program_can_register(file: str) -> None:
    assert {(d["apiVersion"], d["kind"]) for d in read_manifest(file)} <= CLASSES.keys()


@pytest.mark.parametrize("file", FILES)
def test_a_file_reaches_the_cluster_unchanged(file: str, recording: Recording, find: Any) -> None:
    registered = list(find.objects(recording).values())
    for body in read_manifest(file):
        assert body in registered, f"{body['kind']} {body['metadata']['name']}"


def test_the_definition_is_the_contracts() -> None:
    (crd,) = read_manifest("crd.yaml")
    assert crd["spec"]["group"] == contract.GROUP
    assert crd["spec"]["names"]["kind"] == contract.KIND
    assert crd["spec"]["names"]["plural"] == contract.PLURAL
    assert [version["name"] for version in crd["spec"]["versions"]] == [contract.VERSION]


def test_the_rbac_file_names_what_the_contract_names() -> None:
    documents = read_manifest("rbac.yaml")
    names = {(d["kind"], d["metadata"]["name"]) for d in documents}
    assert ("Namespace", contract.SYSTEM_NAMESPACE) in names
    assert ("ServiceAccount", contract.CONTROLLER_NAME) in names
    assert ("ClusterRole", CONTROLLER_JOBS_ROLE) in names
    namespaces = {d["metadata"].get("namespace") for d in documents} - {None}
    assert namespaces == {contract.SYSTEM_NAMESPACE}
    rules = next(d for d in documents if d["metadata"]["name"] == CONTROLLER_JOBS_ROLE)["rules"]
    jobs = {r for rule in rules if rule["apiGroups"] == [contract.GROUP] for r in rule["resources"]}
    assert contract.PLURAL in jobs
    assert f"{contract.PLURAL}/status" in jobs


def test_no_right_of_the_controller_is_a_wildcard() -> None:
    rules = [rule for d in read_manifest("rbac.yaml") for rule in d.get("rules", [])]
    assert rules
    assert not [rule for rule in rules if "*" in (*rule["apiGroups"], *rule["resources"])]
    assert not [rule for rule in rules if "*" in rule["verbs"]]


def test_the_controller_starts_pods_in_the_job_namespace_only(
    recording: Recording, settings: PlatformSettings, find: Any
) -> None:
    starting = {
        d["metadata"]["name"]
        for d in read_manifest("rbac.yaml")
        for rule in d.get("rules", [])
        if "pods" in rule["resources"] and "create" in rule["verbs"]
    }
    bindings = [
        body
        for body in find.objects(recording).values()
        if body["kind"].endswith("Binding") and body["roleRef"]["name"] in starting
    ]
    assert [(b["kind"], b["metadata"]["namespace"]) for b in bindings] == [
        ("RoleBinding", settings.jobs.namespace)
    ]
    (subject,) = bindings[0]["subjects"]
    assert subject["name"] == contract.CONTROLLER_NAME
    assert subject["namespace"] == contract.SYSTEM_NAMESPACE


def test_the_device_plugin_runs_on_gpu_nodes_and_on_no_other() -> None:
    (plugin,) = read_manifest("device-plugin.yaml")
    pod = plugin["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {contract.LABEL_ROLE: contract.ROLE_WORKER}
    gpu = [t for t in pod["tolerations"] if t["key"] == contract.GPU_TAINT_KEY]
    assert gpu == [
        {
            "key": contract.GPU_TAINT_KEY,
            "operator": "Exists",
            "effect": contract.GPU_TAINT_EFFECT,
        }
    ]


def test_every_container_is_pinned_limited_and_unprivileged(
    recording: Recording, find: Any
) -> None:
    for name, pod in pods(recording, find).items():
        for container in pod["containers"]:
            assert "@sha256:" in container["image"], name
            assert container["resources"]["requests"], name
            assert container["resources"]["limits"], name
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False, name
            assert context["capabilities"]["drop"] == ["ALL"], name


def test_every_pod_of_ours_passes_the_restricted_standard(recording: Recording, find: Any) -> None:
    checked = [
        pod
        for name, pod in pods(recording, find).items()
        if name.split(" ")[1].startswith(tuple(OURS))
    ]
    assert len(checked) == 3
    for pod in checked:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not [v for v in pod.get("volumes", []) if "hostPath" in v]


def test_the_claim_is_bound_to_the_volume_of_the_cloud(
    recording: Recording, settings: PlatformSettings, find: Any
) -> None:
    claim = find.one(recording, "kubernetes:core/v1:PersistentVolumeClaim").inputs
    volume = find.one(recording, "kubernetes:core/v1:PersistentVolume").inputs
    assert claim["metadata"] == {
        "name": contract.VOLUME_CLAIM,
        "namespace": settings.jobs.namespace,
    }
    assert claim["spec"]["volumeName"] == "shared-volume"
    assert claim["spec"]["storageClassName"] == volume["spec"]["storageClassName"] == ""
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert volume["spec"]["csi"] == {
        "driver": "efs.csi.aws.com",
        "volumeHandle": "storage-files-id::storage-shared-id",
    }


def test_data_and_output_are_made_before_the_first_job(recording: Recording, find: Any) -> None:
    pod = find.one(recording, "kubernetes:batch/v1:Job").inputs["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["args"] == ["/mnt/efs/data", "/mnt/efs/output"]
    assert pod["volumes"][0]["persistentVolumeClaim"] == {"claimName": contract.VOLUME_CLAIM}


def test_agents_find_the_coordinator_by_a_headless_service(recording: Recording, find: Any) -> None:
    service = find.one(recording, "kubernetes:core/v1:Service").inputs
    assert service["metadata"]["name"] == contract.COORDINATOR_SERVICE
    assert service["metadata"]["namespace"] == contract.SYSTEM_NAMESPACE
    assert service["spec"]["clusterIP"] == "None"
    (port,) = service["spec"]["ports"]
    assert port["port"] == contract.COORDINATOR_PORT
    controller = find.one(
        recording, "kubernetes:apps/v1:Deployment", "elastic-jobs-controller"
    ).inputs["spec"]["template"]
    assert service["spec"]["selector"] == controller["metadata"]["labels"]
    (container,) = controller["spec"]["containers"]
    ports = {p["name"]: p["containerPort"] for p in container["ports"]}
    assert ports == {"agents": contract.COORDINATOR_PORT, "metrics": contract.METRICS_PORT}
    assert container["command"] == ["python3", "-m", "spotrain.controller"]


def test_the_job_namespace_refuses_what_baseline_refuses(
    recording: Recording, settings: PlatformSettings, find: Any
) -> None:
    namespace = find.one(recording, "kubernetes:core/v1:Namespace", "jobs-namespace").inputs
    assert namespace["metadata"]["name"] == settings.jobs.namespace
    labels = namespace["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "baseline"
    assert labels["pod-security.kubernetes.io/warn"] == "restricted"


def test_no_cloud_is_named_in_the_platform() -> None:
    for file in (FOLDER.parent / "components" / "platform").glob("*.py"):
        text = file.read_text().lower()
        assert not [w for w in ("aws", "eks", "efs", "gke") if w in text], file.name


def test_the_examples_fit_the_cluster_that_the_dev_stack_builds() -> None:
    for file in (FOLDER / "examples").glob("*.yaml"):
        for body in yaml.safe_load_all(file.read_text()):
            if body["kind"] == contract.KIND:
                assert body["apiVersion"] == contract.API_VERSION
