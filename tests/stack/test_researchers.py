"""What the files grant to the people who run jobs. How an API server reads them: tests/cluster."""

from typing import Any

from components.aws.autoscaler.autoscaler import STATUS as AUTOSCALER_STATUS
from components.manifest import read_manifest
from components.platform.archive import JOBS_ROLE
from components.platform.researchers import RESEARCHERS_JOBS_ROLE
from spotrain import contract
from stacks.platform_schema import PlatformSettings
from stacks.recorder import Recording

DOCUMENTS = read_manifest("researchers.yaml")
ROLES = {
    (d["kind"], d["metadata"].get("namespace", ""), d["metadata"]["name"]): d
    for d in DOCUMENTS
    if "rules" in d
}
RULES = [rule for role in ROLES.values() for rule in role["rules"]]
SYSTEM = ROLES["Role", contract.SYSTEM_NAMESPACE, "spotrain-researchers"]
AUTOSCALER = ROLES["Role", "kube-system", "spotrain-researchers-autoscaler"]
EVERYWHERE = ROLES["ClusterRole", "", "spotrain-researchers"]
READING = {"get", "list", "watch"}
MORE_THAN_READING = {
    "elasticjobs": {"create", "update", "patch", "delete"},
    "elasticjobs/scale": {"update", "patch"},
    "pods": {"delete"},
    "pods/eviction": {"create"},
    "pods/portforward": {"create"},
    "secrets": {"create"},
}
"""Everything that a researcher can change."""


RBAC = "kubernetes:rbac.authorization.k8s.io/"


def bindings(recording: Recording) -> list[dict[str, Any]]:
    """Every grant of the program to a group."""
    return [
        r.inputs
        for r in recording.resources
        if r.type.endswith("Binding")
        and r.type.startswith(RBAC)
        and any(subject["kind"] == "Group" for subject in r.inputs["subjects"])
    ]


def test_nothing_is_changed_that_is_not_on_the_list() -> None:
    changed: dict[str, set[str]] = {}
    for rule in RULES:
        if more := set(rule["verbs"]) - READING:
            changed |= {resource: more for resource in rule["resources"]}
    assert changed == MORE_THAN_READING


def test_no_secret_is_read_and_nothing_is_entered() -> None:
    for rule in RULES:
        if "secrets" in rule["resources"]:
            assert set(rule["verbs"]).isdisjoint(READING)
        assert "pods/exec" not in rule["resources"]
        assert "pods/attach" not in rule["resources"]
        assert "serviceaccounts/token" not in rule["resources"]


def test_outside_the_job_namespace_only_named_things_of_a_namespace_are_seen() -> None:
    for role in (SYSTEM, AUTOSCALER):
        assert all(rule["resourceNames"] for rule in role["rules"])
    seen = {resource for rule in EVERYWHERE["rules"] for resource in rule["resources"]}
    assert seen == {"nodes", "priorityclasses", "customresourcedefinitions"}


def test_the_file_names_what_the_contract_names() -> None:
    assert ("ClusterRole", "", RESEARCHERS_JOBS_ROLE) in ROLES
    named = {name for rule in SYSTEM["rules"] for name in rule["resourceNames"]}
    assert named == {
        contract.POOLS_CONFIGMAP,
        contract.PRICES_CONFIGMAP,
        contract.CONTROLLER_NAME,
    }
    (status,) = AUTOSCALER["rules"]
    assert status["resourceNames"] == [AUTOSCALER_STATUS]
    (definition,) = (rule for rule in RULES if "customresourcedefinitions" in rule["resources"])
    assert definition["resourceNames"] == [f"{contract.PLURAL}.{contract.GROUP}"]


def test_rights_over_jobs_are_granted_in_the_job_namespace_alone(
    recording: Recording, settings: PlatformSettings
) -> None:
    granted = {
        (b["kind"], b["metadata"].get("namespace"), b["roleRef"]["name"])
        for b in bindings(recording)
    }
    assert granted == {
        ("RoleBinding", settings.jobs.namespace, RESEARCHERS_JOBS_ROLE),
        ("RoleBinding", contract.SYSTEM_NAMESPACE, "spotrain-researchers"),
        ("RoleBinding", "kube-system", "spotrain-researchers-autoscaler"),
        ("ClusterRoleBinding", None, "spotrain-researchers"),
    }


def test_every_grant_is_to_the_researchers_group(recording: Recording) -> None:
    found = {
        (subject["kind"], subject["name"]) for b in bindings(recording) for subject in b["subjects"]
    }
    assert found == {("Group", contract.RESEARCHERS_GROUP)}


def test_no_service_account_of_the_job_namespace_has_a_right_but_the_archives(
    recording: Recording, settings: PlatformSettings
) -> None:
    """A job may run as any of them, so what one may do every researcher may do."""
    subjects = [
        subject
        for r in recording.resources
        if r.type.endswith("Binding") and r.type.startswith(RBAC)
        for subject in r.inputs["subjects"]
    ]
    assert subjects
    named = {s["name"] for s in subjects if s.get("namespace") == settings.jobs.namespace}
    assert named == {contract.ARCHIVE_NAME}


def test_the_archive_may_nothing_that_researchers_may_not() -> None:
    """A job that gets hold of its token, by a secret that asks for one, gains nothing by it."""

    def may(rules: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
        return {
            (group, resource, verb)
            for rule in rules
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }

    archive = {d["metadata"]["name"]: d["rules"] for d in read_manifest("archive.yaml")}
    in_jobs = ROLES["ClusterRole", "", RESEARCHERS_JOBS_ROLE]["rules"]
    assert may(archive[JOBS_ROLE]) < may(in_jobs)
    assert may(archive[contract.ARCHIVE_NAME]) < may(EVERYWHERE["rules"])
