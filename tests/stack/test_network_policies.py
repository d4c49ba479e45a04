"""Who may connect to whom: jobs, the platform, and the world."""

import re
from ipaddress import IPv4Address, ip_network
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.cloud import Endpoint
from components.manifest import read_manifest
from components.platform import job_network
from spotrain import contract
from spotrain.controller.network import build_network_policy
from spotrain.controller.network import labels as labels_of
from stacks.platform_schema import Jobs, PlatformSettings
from stacks.recorder import Recording
from tests.controller.builders import job
from tests.stack.network_model import Place, Policy, may_connect
from tests.stack.platform_parts import JOBS, job_namespace, system_network

POLICY = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
EGRESS: tuple[job_network.Egress, ...] = get_args(job_network.Egress)
DIGITS = job()
WORKER = Place(namespace=JOBS, labels=labels_of(DIGITS))
STRANGER = Place(namespace=JOBS, labels={**labels_of(DIGITS), contract.LABEL_JOB: "another"})
SYSTEM = contract.SYSTEM_NAMESPACE
CONTROLLER = Place(namespace=SYSTEM, labels={"app.kubernetes.io/name": contract.CONTROLLER_NAME})
METADATA = Place(address="169.254.169.254")
CREDENTIALS = Endpoint(cidr="169.254.170.23/32", port=80)


def policies_of(recording: Recording) -> list[Policy]:
    return [r.inputs for r in recording.of_type(POLICY)]


@pytest.fixture(scope="module")
def system() -> list[Policy]:
    """The policies of the platform's own namespace."""
    return policies_of(system_network())


@pytest.fixture(scope="module")
def jobs_with() -> dict[job_network.Egress, list[Policy]]:
    """The policies of the job namespace for each setting, and those of one job."""
    own = build_network_policy(DIGITS)
    return {egress: [*policies_of(job_namespace(egress=egress)), own] for egress in EGRESS}


def test_the_schema_and_the_policies_know_the_same_settings() -> None:
    assert get_args(Jobs.model_fields["egress"].annotation) == EGRESS


@pytest.mark.parametrize("egress", EGRESS)
@given(port=st.integers(1, 65535))
def test_siblings_reach_each_other_and_nobody_else_reaches_them(
    jobs_with: dict[job_network.Egress, list[Policy]], egress: job_network.Egress, port: int
) -> None:
    policies = jobs_with[egress]
    assert may_connect(policies, WORKER, WORKER, port=port)
    assert not may_connect(policies, STRANGER, WORKER, port=port)
    for namespace in (SYSTEM, "default", "monitoring"):
        pod = Place(namespace=namespace, labels=labels_of(DIGITS))
        assert not may_connect(policies, pod, WORKER, port=port)
    assert not may_connect(policies, Place(address="10.0.0.5"), WORKER, port=port)


@pytest.mark.parametrize("egress", EGRESS)
def test_workers_reach_the_coordinator_and_no_other_port_of_the_platform(
    jobs_with: dict[job_network.Egress, list[Policy]],
    system: list[Policy],
    egress: job_network.Egress,
) -> None:
    policies = [*jobs_with[egress], *system]
    reached = [
        port
        for port in (443, contract.METRICS_PORT, contract.COORDINATOR_PORT)
        if may_connect(policies, WORKER, CONTROLLER, port=port)
    ]
    assert reached == [contract.COORDINATOR_PORT]
    other = Place(namespace=SYSTEM, labels={"app.kubernetes.io/name": "another"})
    assert not may_connect(policies, WORKER, other, port=contract.COORDINATOR_PORT)


@pytest.mark.parametrize("egress", EGRESS)
def test_workers_resolve_names(
    jobs_with: dict[job_network.Egress, list[Policy]], egress: job_network.Egress
) -> None:
    dns = Place(namespace="kube-system", labels={"k8s-app": "kube-dns"})
    for protocol in ("UDP", "TCP"):
        assert may_connect(jobs_with[egress], WORKER, dns, port=53, protocol=protocol)


@pytest.mark.parametrize("egress", EGRESS)
@given(port=st.integers(1, 65535), last=st.integers(0, 65535))
def test_no_setting_lets_a_worker_ask_the_node_for_its_credentials(
    jobs_with: dict[job_network.Egress, list[Policy]],
    egress: job_network.Egress,
    port: int,
    last: int,
) -> None:
    assert not may_connect(jobs_with[egress], WORKER, METADATA, port=port)
    near = Place(address=str(IPv4Address("169.254.0.0") + last))
    assert not may_connect(jobs_with[egress], WORKER, near, port=port)


INSIDE = [
    ip_network(block)
    for block in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
]


@given(address=st.ip_addresses(v=4), port=st.one_of(st.just(443), st.integers(1, 65535)))
def test_https_leads_out_of_the_clusters_own_network_by_one_port(
    jobs_with: dict[job_network.Egress, list[Policy]], address: IPv4Address, port: int
) -> None:
    inside = address.is_link_local or any(address in block for block in INSIDE)
    reached = may_connect(jobs_with["https"], WORKER, Place(address=str(address)), port=port)
    assert reached is (port == 443 and not inside)


@pytest.mark.parametrize("address", ["10.20.0.1", "172.20.0.1", "192.168.1.1", "100.64.0.1"])
def test_https_does_not_lead_to_a_private_address(
    jobs_with: dict[job_network.Egress, list[Policy]], address: str
) -> None:
    assert not may_connect(jobs_with["https"], WORKER, Place(address=address), port=443)


def test_all_leads_everywhere_but_to_the_link_of_the_node(
    jobs_with: dict[job_network.Egress, list[Policy]],
) -> None:
    for address in ("10.20.0.1", "198.51.100.7"):
        assert may_connect(jobs_with["all"], WORKER, Place(address=address), port=5432)


@given(address=st.ip_addresses(v=4), port=st.integers(1, 65535))
def test_none_leads_nowhere(
    jobs_with: dict[job_network.Egress, list[Policy]], address: IPv4Address, port: int
) -> None:
    assert not may_connect(jobs_with["none"], WORKER, Place(address=str(address)), port=port)


def test_no_job_can_have_the_name_of_a_policy() -> None:
    """The controller applies a job's policy under the job's name, over whatever has it."""
    (definition,) = read_manifest("crd.yaml")
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    (pattern,) = (
        found[1]
        for rule in schema["x-kubernetes-validations"]
        if (found := re.search(r"metadata\.name\.matches\('(.+)'\)", rule["rule"]))
    )
    assert re.search(pattern, "digits")
    names = [policy["metadata"]["name"] for policy in policies_of(job_namespace())]
    assert len(names) == 5
    assert [name for name in names if re.search(pattern, name)] == []


def test_only_prometheus_reads_metrics(system: list[Policy]) -> None:
    prometheus = Place(namespace=contract.MONITORING_NAMESPACE, labels={"app": "prometheus"})
    passed = [
        source.namespace
        for source in (prometheus, WORKER, STRANGER, Place(namespace="default"))
        if may_connect(system, source, CONTROLLER, port=contract.METRICS_PORT)
    ]
    assert passed == ["monitoring"]
    assert not may_connect(system, prometheus, CONTROLLER, port=contract.COORDINATOR_PORT)


def test_nobody_connects_to_the_other_pods_of_the_platform(system: list[Policy]) -> None:
    refresher = Place(namespace=SYSTEM, labels={"app.kubernetes.io/name": "prices"})
    for source in (WORKER, CONTROLLER, Place(namespace="monitoring"), Place()):
        assert not may_connect(system, source, refresher, port=8080)


def test_the_platforms_own_connections_stay_open(system: list[Policy]) -> None:
    api_server = Place(address="10.20.3.4")
    assert may_connect(system, CONTROLLER, api_server, port=443)


def test_the_program_uses_the_setting_of_the_stack_file(
    recording: Recording, settings: PlatformSettings
) -> None:
    mine = [p for p in policies_of(recording) if p["metadata"]["namespace"] != SYSTEM]
    worker = Place(namespace=settings.jobs.namespace, labels=labels_of(DIGITS))
    outside = may_connect(mine, worker, Place(address="198.51.100.7"), port=443)
    assert outside is (settings.jobs.egress != "none")
    theirs = [p for p in policies_of(recording) if p["metadata"]["namespace"] == SYSTEM]
    assert may_connect(theirs, worker, CONTROLLER, port=contract.COORDINATOR_PORT)


@given(address=st.ip_addresses(v=4))
def test_the_model_reads_blocks_as_kubernetes_does(address: IPv4Address) -> None:
    """A policy of one block, so that a fault of the model is not taken for one of ours."""
    block = {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}
    policy = {
        "metadata": {"namespace": JOBS},
        "spec": {
            "podSelector": {},
            "policyTypes": ["Egress"],
            "egress": [{"to": [{"ipBlock": block}]}],
        },
    }
    reached = may_connect([policy], WORKER, Place(address=str(address)), port=1)
    expected = str(address).startswith("10.") and not str(address).startswith("10.1.")
    assert reached is expected


@pytest.mark.parametrize("egress", EGRESS)
def test_jobs_get_an_identity_at_the_cloud_where_there_is_one_and_at_that_port_alone(
    jobs_with: dict[job_network.Egress, list[Policy]], egress: job_network.Egress
) -> None:
    endpoint = Place(address="169.254.170.23")
    assert not may_connect(jobs_with[egress], WORKER, endpoint, port=80)
    policies = policies_of(job_namespace(egress=egress, job_credentials=CREDENTIALS))
    assert may_connect(policies, WORKER, endpoint, port=80)
    assert not may_connect(policies, WORKER, endpoint, port=22)
    assert not may_connect(policies, WORKER, METADATA, port=80)
