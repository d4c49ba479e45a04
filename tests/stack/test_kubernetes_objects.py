"""Every Kubernetes object is one that the API server of the stack's version accepts."""

from typing import Any

import pytest
import yaml
from kubernetes_validate import validate

from components.manifest import CLASSES, FOLDER, OPERATOR, read_manifest
from components.platform.job_namespace import CONTROLLER_JOBS_ROLE
from spotrain import contract
from stacks.platform_schema import PlatformSettings
from stacks.recorder import Recording

EVERYWHERE = {"crd.yaml", "job-pods.yaml", "rbac.yaml", "researchers.yaml", "priority-classes.yaml"}
"""What every cluster gets; the other files are for some clouds, or on request."""
FILES = sorted(file.name for file in FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("version", ["1.35", "1.36"])
def test_a_file_applies_with_kubectl_as_it_is(file: str, version: str) -> None:
    for body in read_manifest(file):
        if not body["apiVersion"].startswith(OPERATOR):
            validate(body, version, strict=True)


@pytest.mark.parametrize("file", FILES)
def test_a_file_holds_only_kinds_that_the_program_can_register(file: str) -> None:
    assert {(d["apiVersion"], d["kind"]) for d in read_manifest(file)} <= CLASSES.keys()


@pytest.mark.parametrize("file", FILES)
def test_a_file_reaches_the_cluster_unchanged_or_not_at_all(
    file: str, recording: Recording, find: Any
) -> None:
    registered = list(find.objects(recording).values())
    missing = [b for b in read_manifest(file) if b not in registered]
    assert missing == [] or (file not in EVERYWHERE and missing == read_manifest(file))


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
        if body["kind"].endswith("Binding") and body.get("roleRef", {}).get("name") in starting
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


def test_the_examples_fit_the_cluster_that_the_dev_stack_builds() -> None:
    for file in (FOLDER / "examples").glob("*.yaml"):
        for body in yaml.safe_load_all(file.read_text()):
            if body["kind"] == contract.KIND:
                assert body["apiVersion"] == contract.API_VERSION
