"""How the controller runs, and how it gives way."""

from typing import Any

import pytest

from components.manifest import read_manifest
from components.platform import elastic_jobs as module
from spotrain import contract
from stacks.recorder import Recording, Registration
from tests.stack.platform_parts import elastic_jobs


@pytest.fixture(scope="module")
def recording() -> Recording:
    return elastic_jobs()


def one(recording: Recording, kind: str) -> Registration:
    (found,) = (r for r in recording.resources if r.type.endswith(f":{kind}"))
    return found


@pytest.fixture(scope="module")
def deployment(recording: Recording) -> dict[str, Any]:
    spec: dict[str, Any] = one(recording, "Deployment").inputs["spec"]
    return spec


@pytest.fixture(scope="module")
def pod(deployment: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = deployment["template"]["spec"]
    return spec


def test_one_leads_and_one_stands_by_also_while_they_are_updated(
    deployment: dict[str, Any],
) -> None:
    assert deployment["replicas"] == module.REPLICAS == 2
    assert deployment["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1},
    }


def test_a_lost_node_takes_one_of_them_where_there_are_two_nodes(
    pod: dict[str, Any], deployment: dict[str, Any]
) -> None:
    apart = pod["affinity"]["podAntiAffinity"]
    assert apart.keys() == {"preferredDuringSchedulingIgnoredDuringExecution"}
    (term,) = apart["preferredDuringSchedulingIgnoredDuringExecution"]
    assert term["podAffinityTerm"]["topologyKey"] == "kubernetes.io/hostname"
    assert term["podAffinityTerm"]["labelSelector"] == deployment["selector"]


def test_the_budget_is_about_the_controller_and_never_stops_a_drain(
    recording: Recording, deployment: dict[str, Any]
) -> None:
    budget = one(recording, "PodDisruptionBudget").inputs
    assert budget["metadata"]["namespace"] == contract.SYSTEM_NAMESPACE
    assert budget["spec"]["selector"] == deployment["selector"]
    # maxUnavailable, not minAvailable: with one controller the latter forbids every drain.
    assert budget["spec"].keys() == {"selector", "maxUnavailable", "unhealthyPodEvictionPolicy"}
    assert 1 <= budget["spec"]["maxUnavailable"] < deployment["replicas"]
    assert budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_no_job_takes_the_controllers_place(pod: dict[str, Any]) -> None:
    assert pod["priorityClassName"] == "system-cluster-critical"


def test_it_prefers_managers_and_starts_on_a_cluster_without_any(pod: dict[str, Any]) -> None:
    affinity = pod["affinity"]["nodeAffinity"]
    assert affinity.keys() == {"preferredDuringSchedulingIgnoredDuringExecution"}
    (term,) = affinity["preferredDuringSchedulingIgnoredDuringExecution"]
    assert term["preference"]["matchExpressions"] == [
        {"key": contract.LABEL_ROLE, "operator": "In", "values": [contract.ROLE_MANAGER]}
    ]
    assert "nodeSelector" not in pod
    assert "tolerations" not in pod  # so no GPU node is kept for it


def test_the_second_one_runs_in_another_zone(
    pod: dict[str, Any], deployment: dict[str, Any]
) -> None:
    (spread,) = pod["topologySpreadConstraints"]
    assert spread["topologyKey"] == contract.LABEL_ZONE
    assert spread["labelSelector"] == deployment["selector"]


def test_only_the_pod_that_asks_gets_the_controllers_token(pod: dict[str, Any]) -> None:
    (account,) = (d for d in read_manifest("rbac.yaml") if d["kind"] == "ServiceAccount")
    assert account["automountServiceAccountToken"] is False
    assert pod["automountServiceAccountToken"] is True
    assert pod["serviceAccountName"] == account["metadata"]["name"]


def test_what_it_writes_fits_what_it_may_write(pod: dict[str, Any]) -> None:
    (volume,) = pod["volumes"]
    (container,) = pod["containers"]
    assert volume["emptyDir"] == {"sizeLimit": "64Mi"}
    assert container["resources"]["requests"]["ephemeral-storage"] == "64Mi"
    assert container["resources"]["limits"]["ephemeral-storage"] == "256Mi"
    assert [m["mountPath"] for m in container["volumeMounts"]] == ["/tmp"]


def test_agents_find_the_coordinator_by_a_headless_service(
    recording: Recording, deployment: dict[str, Any], pod: dict[str, Any]
) -> None:
    service = one(recording, "Service").inputs
    assert service["metadata"]["name"] == contract.COORDINATOR_SERVICE
    assert service["metadata"]["namespace"] == contract.SYSTEM_NAMESPACE
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"] == deployment["template"]["metadata"]["labels"]
    (port,) = service["spec"]["ports"]
    assert port["port"] == contract.COORDINATOR_PORT
    (container,) = pod["containers"]
    ports = {p["name"]: p["containerPort"] for p in container["ports"]}
    assert ports == {"agents": contract.COORDINATOR_PORT, "metrics": contract.METRICS_PORT}
    assert container["command"] == ["python3", "-m", "spotrain.controller"]


@pytest.mark.parametrize(
    ("limit", "told"),
    [pytest.param(None, None, id="no-limit"), pytest.param(16, "16", id="a-limit")],
)
def test_the_most_gpus_of_a_researcher_reach_the_controller_where_they_are_set(
    limit: int | None, told: str | None
) -> None:
    container = one(elastic_jobs(limit), "Deployment").inputs["spec"]["template"]["spec"][
        "containers"
    ][0]
    environment = {variable["name"]: variable["value"] for variable in container["env"]}
    assert environment.get(contract.ENV_MAX_GPUS) == told
