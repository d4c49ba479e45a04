"""The refresher of prices in the cluster, and its identity on AWS."""

import json
from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_kubernetes as k8s
import pytest
from kubernetes_validate import validate

from components.aws.price_identity import PriceIdentity, PriceIdentityArgs
from components.aws.reference import ClusterReference
from components.cloud import PriceSource
from components.manifest import CLASSES, read_manifest
from components.platform.prices import Prices, PricesArgs
from spotrain import contract
from spotrain.clouds.__main__ import parse
from stacks.recorder import Recording
from tests.stack.platform_parts import IMAGE, cloud

CRON, CONFIG_MAP = "kubernetes:batch/v1:CronJob", "kubernetes:core/v1:ConfigMap"
SOURCE = PriceSource(arguments=("aws", "--region", "us-east-1"), environment={"HOME": "/tmp"})


def refresher(build: Any, source: PriceSource | None = SOURCE) -> Recording:
    def program() -> None:
        kubernetes = k8s.Provider("kube")
        namespace = k8s.core.v1.Namespace(
            "system", opts=pulumi.ResourceOptions(provider=kubernetes)
        )
        made = cloud(kubernetes, prices=source)
        Prices("prices", PricesArgs(cloud=made, after=(namespace,)))

    recording: Recording = build(program)
    return recording


@pytest.fixture
def cron(build: Any, find: Any) -> dict[str, Any]:
    spec: dict[str, Any] = find.one(refresher(build), CRON).inputs["spec"]
    return spec


@pytest.fixture
def pod(cron: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = cron["jobTemplate"]["spec"]["template"]["spec"]
    return found


# --- In the cluster -----------------------------------------------------------------------------


def test_a_cloud_that_tells_no_prices_gets_nothing(build: Any) -> None:
    made = [r.name for r in refresher(build, None).resources if r.custom]
    assert sorted(made) == ["kube", "system"]


def test_runs_never_overlap_pile_up_or_hang(cron: dict[str, Any]) -> None:
    assert cron["concurrencyPolicy"] == "Forbid"
    assert cron["startingDeadlineSeconds"] < 30 * 60
    assert cron["successfulJobsHistoryLimit"] == cron["failedJobsHistoryLimit"] == 1
    run = cron["jobTemplate"]["spec"]
    assert run["activeDeadlineSeconds"] < 30 * 60
    assert run["backoffLimit"] == 1


def test_the_command_is_one_that_the_package_takes(pod: dict[str, Any]) -> None:
    (container,) = pod["containers"]
    assert container["command"] == ["python3", "-m", "spotrain.clouds"]
    options = parse(container["args"])
    assert (options.cloud, options.region) == ("aws", "us-east-1")
    assert container["env"] == [{"name": "HOME", "value": "/tmp"}]


def test_its_pod_passes_the_restricted_standard_and_is_limited(pod: dict[str, Any]) -> None:
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": contract.JOB_UID,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    (container,) = pod["containers"]
    assert container["image"] == IMAGE
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"]["memory"]
    assert not pod.get("volumes")


def test_the_stack_makes_the_prices_without_data_and_never_looks_at_them_again(
    build: Any, find: Any
) -> None:
    latest = find.one(refresher(build), CONFIG_MAP)
    assert latest.inputs["metadata"]["name"] == contract.PRICES_CONFIGMAP
    assert latest.inputs["metadata"]["namespace"] == contract.SYSTEM_NAMESPACE
    assert "data" not in latest.inputs
    assert latest.ignore_changes == ("data",)


def test_it_may_read_the_pools_and_write_the_prices_and_nothing_else() -> None:
    (role,) = (d for d in read_manifest("prices.yaml") if d["kind"] == "Role")
    rights = {
        (resource, name): rule["verbs"]
        for rule in role["rules"]
        for resource in rule["resources"]
        for name in rule["resourceNames"]
    }
    assert rights == {
        ("configmaps", contract.POOLS_CONFIGMAP): ["get"],
        ("configmaps", contract.PRICES_CONFIGMAP): ["get", "patch"],
    }


def test_the_file_names_the_account_that_the_pod_runs_as(pod: dict[str, Any]) -> None:
    documents = {d["kind"]: d for d in read_manifest("prices.yaml")}
    account = documents["ServiceAccount"]["metadata"]
    assert pod["serviceAccountName"] == account["name"] == contract.PRICES_REFRESHER
    assert account["namespace"] == contract.SYSTEM_NAMESPACE
    (subject,) = documents["RoleBinding"]["subjects"]
    assert (subject["name"], subject["namespace"]) == (account["name"], account["namespace"])
    assert documents["RoleBinding"]["roleRef"]["name"] == documents["Role"]["metadata"]["name"]


@pytest.mark.parametrize("version", ["1.35", "1.36"])
def test_every_object_is_valid(build: Any, find: Any, version: str) -> None:
    for body in read_manifest("prices.yaml"):
        validate(body, version, strict=True)
        assert (body["apiVersion"], body["kind"]) in CLASSES
    objects = find.objects(refresher(build))
    assert len(objects) == 6
    for body in objects.values():
        validate(body, version, strict=True)


def test_the_first_run_comes_after_its_rights_and_the_object_that_it_writes(
    build: Any, find: Any
) -> None:
    recording = refresher(build)
    needed = " ".join(find.one(recording, CRON).depends_on)
    for name in ("prices-rights-spotrain-prices", "prices-latest", "system"):
        assert f"::{name}" in needed
    assert "::system" in " ".join(find.one(recording, CONFIG_MAP).depends_on)


# --- On AWS -------------------------------------------------------------------------------------


@pytest.fixture
def identity(build: Any, tags: Mapping[str, str]) -> Recording:
    def program() -> None:
        cluster = ClusterReference(
            name=pulumi.Output.from_input("mine"),
            arn=pulumi.Output.from_input("arn:aws:eks:us-east-1:123456789012:cluster/mine"),
            region="us-east-1",
            version="1.36",
            kubernetes=k8s.Provider("kube"),
        )
        source = PriceIdentity("prices", PriceIdentityArgs(cluster=cluster, tags=tags)).source
        assert list(source.arguments) == ["aws", "--region", "us-east-1"]
        assert source.ready

    recording: Recording = build(program)
    return recording


def test_its_pods_may_ask_for_prices_in_their_region_and_do_nothing_else(
    identity: Recording, find: Any
) -> None:
    policy = find.policies(identity)["prices-identity-policy.policy"]
    assert policy["Statement"] == [
        {
            "Effect": "Allow",
            "Action": ["ec2:DescribeSpotPriceHistory"],
            "Resource": ["*"],
            "Condition": {"StringEquals": {"aws:RequestedRegion": "us-east-1"}},
        }
    ]


def test_the_identity_is_that_of_the_refreshers_account(identity: Recording, find: Any) -> None:
    association = find.one(identity, "aws:eks/podIdentityAssociation:PodIdentityAssociation").inputs
    assert association["namespace"] == contract.SYSTEM_NAMESPACE
    assert association["serviceAccount"] == contract.PRICES_REFRESHER
    role = find.one(identity, "aws:iam/role:Role").inputs
    (trust,) = json.loads(role["assumeRolePolicy"])["Statement"]
    said = trust["Condition"]["StringEquals"]
    assert said["aws:RequestTag/kubernetes-namespace"] == contract.SYSTEM_NAMESPACE
    assert said["aws:RequestTag/kubernetes-service-account"] == contract.PRICES_REFRESHER


def test_every_stack_of_a_cloud_refreshes_its_own_prices_once_somebody_may(
    recording: Recording, settings: Any, find: Any
) -> None:
    if settings.cloud == "existing":
        assert [run.name for run in recording.of_type(CRON) if "prices" in run.name] == []
        return
    run = find.one(recording, CRON, "prices-refresher")
    pod = run.inputs["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    asks, needs = {
        "aws": (["aws", "--region", settings.region], ["prices-identity", "managers-group"]),
        "gcp": (["gcp", "--project"], ["managers"]),
    }[settings.cloud]
    assert pod["containers"][0]["args"][: len(asks)] == asks
    before = {urn.rpartition("::")[2] for urn in run.depends_on}
    assert all(any(name.startswith(need) for name in before) for need in needs), before
