"""k8s/examples/data.yaml, and docs/data.md, which uses it."""

import re
import subprocess
from typing import Any

import pytest
import yaml

from spotrain import contract
from stacks.pages.stacks import QUARRY, recording_of
from stacks.preview import ROOT
from tests.stack.pod_security import violations

FILE = ROOT / "k8s" / "examples" / "data.yaml"
GUIDE = (ROOT / "docs" / "data.md").read_text()


@pytest.fixture
def job() -> dict[str, Any]:
    written: dict[str, Any] = yaml.safe_load(FILE.read_text())
    return written


@pytest.fixture
def pod(job: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = job["spec"]["template"]["spec"]
    return spec


def test_it_passes_the_restricted_standard(pod: dict[str, Any]) -> None:
    assert violations(pod) == []


def test_it_writes_where_jobs_read_as_the_user_that_they_are(pod: dict[str, Any]) -> None:
    (container,), (volume,) = pod["containers"], pod["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] == contract.VOLUME_CLAIM
    assert container["volumeMounts"] == [
        {"name": volume["name"], "mountPath": contract.VOLUME_MOUNT}
    ]
    assert container["workingDir"] == contract.VOLUME_MOUNT
    assert pod["securityContext"]["runAsUser"] == contract.JOB_UID
    assert pod["securityContext"]["runAsGroup"] == contract.JOB_UID


def test_it_asks_for_no_gpu_node_and_keeps_none(pod: dict[str, Any]) -> None:
    assert "tolerations" not in pod
    assert contract.GPU_RESOURCE not in str(pod)


def test_it_ends_should_nobody_remember_it(job: dict[str, Any]) -> None:
    assert job["spec"]["activeDeadlineSeconds"] <= 24 * 3600


def test_the_documented_command_puts_it_into_the_stacks_namespace_with_its_image() -> None:
    outputs = recording_of(QUARRY.stem).outputs
    found = re.search(r"^\$ (sed .*) \| kubectl apply -f -$", GUIDE, re.MULTILINE)
    assert found
    given = {"NS": outputs["jobNamespace"] + "-2", "IMAGE": outputs["controllerImage"]}
    run = subprocess.run(
        ["sh", "-c", found[1]], env=given | {"PATH": "/usr/bin:/bin"}, cwd=ROOT, capture_output=True
    )
    made = yaml.safe_load(run.stdout)
    assert made["metadata"]["namespace"] == given["NS"]
    assert made["spec"]["template"]["spec"]["containers"][0]["image"] == given["IMAGE"]


def test_every_command_of_the_guide_goes_to_the_job_that_the_file_makes(
    job: dict[str, Any],
) -> None:
    commands = re.findall(r"kubectl -n (\S+) (?:exec -i|exec|wait \S+|delete) (\S+)", GUIDE)
    assert len(commands) > 5
    name = job["metadata"]["name"]
    assert {target for _, target in commands} <= {f"job/{name}", "job"}
    assert {namespace for namespace, _ in commands} == {"$NS"}
