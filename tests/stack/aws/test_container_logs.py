"""The output of containers in CloudWatch: whose, where, for how long, and by what right."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import yaml
from kubernetes_validate import validate

from components.aws.reference import ClusterReference
from components.aws.watch import container_logs
from components.aws.watch.container_logs import ContainerLogs, ContainerLogsArgs
from components.aws.watch.container_logs_settings import (
    FILE_NAME,
    FILES,
    PROBE_PORT,
    STATE,
    settings,
)
from components.platform.metrics_values import Room
from stacks.aws.manager_room import LOGS_NODE, ask
from stacks.recorder import Recording

MakeCluster = Callable[[], ClusterReference]
GROUP = "arn:aws:logs:us-east-1:123456789012:log-group:container-logs-lines"
LINE = f"{FILES}/digits-worker-0_elastic-job_elasticjob-worker-{'0123456789abcdef' * 4}.log"


@pytest.fixture
def made(build: Any, cluster: MakeCluster, tags: Mapping[str, str]) -> Recording:
    def program() -> None:
        args = ContainerLogsArgs(cluster=cluster(), days=14, after=(), tags=tags)
        ContainerLogs("container-logs", args)

    recording: Recording = build(program)
    return recording


def pod(made: Recording, find: Any) -> dict[str, Any]:
    body = find.one(made, "kubernetes:apps/v1:DaemonSet").inputs
    spec: dict[str, Any] = body["spec"]["template"]["spec"]
    return spec


def test_lines_are_kept_as_long_as_the_stack_file_says(made: Recording, find: Any) -> None:
    group = find.one(made, "aws:cloudwatch/logGroup:LogGroup").inputs
    assert group["retentionInDays"] == 14
    assert "name" not in group


def test_the_reader_may_write_to_one_log_group_and_make_none(made: Recording, find: Any) -> None:
    (right,) = find.policies(made)["container-logs-identity-policy.policy"]["Statement"]
    assert right["Action"] == ["logs:CreateLogStream", "logs:PutLogEvents"]
    assert right["Resource"] == [GROUP, f"{GROUP}:*"]
    (output,) = yaml.safe_load(settings("us-east-1"))["pipeline"]["outputs"]
    assert output["auto_create_group"] == "off"


def test_the_reader_waits_for_its_identity(made: Recording, find: Any) -> None:
    reader = find.one(made, "kubernetes:apps/v1:DaemonSet")
    assert any("PodIdentityAssociation" in urn for urn in reader.depends_on)
    account = find.one(made, "kubernetes:core/v1:ServiceAccount").inputs
    identity = find.one(made, "aws:eks/podIdentityAssociation:PodIdentityAssociation").inputs
    assert identity["serviceAccount"] == account["metadata"]["name"]
    assert identity["namespace"] == account["metadata"]["namespace"]
    assert pod(made, find)["serviceAccountName"] == account["metadata"]["name"]


def test_other_settings_reach_readers_that_run(
    made: Recording,
    build: Any,
    cluster: MakeCluster,
    tags: Mapping[str, str],
    find: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A reader reads its settings once, so other settings make another pod template."""

    def template(recording: Recording) -> dict[str, Any]:
        body: dict[str, Any] = find.one(recording, "kubernetes:apps/v1:DaemonSet").inputs
        return dict(body["spec"]["template"])

    monkeypatch.setattr(container_logs, "settings", lambda region: "service: {flush: 1}")
    changed = build(
        lambda: ContainerLogs(
            "container-logs", ContainerLogsArgs(cluster=cluster(), days=14, after=(), tags=tags)
        )
    )
    assert template(changed) != template(made)


def test_every_node_is_read_gpu_nodes_too(made: Recording, find: Any) -> None:
    assert pod(made, find)["tolerations"] == [{"operator": "Exists"}]
    assert "nodeSelector" not in pod(made, find)


def test_the_reader_changes_nothing_on_its_node_but_its_own_notes(
    made: Recording, find: Any
) -> None:
    spec = pod(made, find)
    (container,) = spec["containers"]
    writable = [m["mountPath"] for m in container["volumeMounts"] if not m["readOnly"]]
    assert writable == [STATE]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert "@sha256:" in container["image"]
    read = yaml.safe_load(settings("us-east-1"))
    assert read["service"]["storage.path"].startswith(STATE)
    assert read["pipeline"]["inputs"][0]["db"].startswith(STATE)
    assert spec["terminationGracePeriodSeconds"] > read["service"]["grace"]


def test_room_for_it_is_reckoned_with_on_managers(made: Recording, find: Any) -> None:
    (container,) = pod(made, find)["containers"]
    requests = container["resources"]["requests"]
    assert ask(Room(requests["cpu"], requests["memory"], "")) == LOGS_NODE


def test_the_settings_name_what_the_pod_has(made: Recording, find: Any) -> None:
    (container,) = pod(made, find)["containers"]
    (config,) = made.of_type("kubernetes:core/v1:ConfigMap")
    (file,) = config.inputs["data"]
    assert container["command"][-1].endswith(f"/{file}")
    mounted = {m["mountPath"] for m in container["volumeMounts"]}
    assert container["command"][-1].rsplit("/", 1)[0] in mounted
    assert container["ports"] == [{"name": "probes", "containerPort": PROBE_PORT}]
    (variable,) = container["env"]
    read = yaml.safe_load(config.inputs["data"][file])
    (output,) = read["pipeline"]["outputs"]
    assert output["log_group_name"] == f"${{{variable['name']}}}"
    assert output["region"] == "us-east-1"


def test_a_line_is_found_by_namespace_pod_and_container() -> None:
    found = re.search(FILE_NAME.replace("?<", "?P<"), LINE)  # of the whole path, as Fluent Bit does
    assert found
    assert found.groupdict() == {
        "pod": "digits-worker-0",
        "namespace": "elastic-job",
        "container": "elasticjob-worker",
    }


def test_the_reader_does_not_read_itself(made: Recording, find: Any) -> None:
    (tail,) = yaml.safe_load(settings("us-east-1"))["pipeline"]["inputs"]
    daemon = find.one(made, "kubernetes:apps/v1:DaemonSet").inputs["metadata"]
    own = f"{FILES}/{daemon['name']}-x7k2p_{daemon['namespace']}_reader-{'0' * 64}.log"
    pattern = re.escape(tail["exclude_path"]).replace(r"\*", ".*")
    assert re.fullmatch(pattern, own)
    assert not re.fullmatch(pattern, LINE)


def test_every_object_is_one_that_the_api_server_accepts(made: Recording, find: Any) -> None:
    objects = find.objects(made)
    assert len(objects) == 3
    for body in objects.values():
        validate(body, "1.36", strict=True)
