"""The job that a submission becomes."""

from typing import Any

import pytest

from spotrain import contract
from spotrain.cli.errors import UserError
from spotrain.cli.sizing import Size
from spotrain.cli.submission import Submission, build_job, researcher_label
from spotrain.job import parse_job


def submission(**changes: Any) -> Submission:
    values: dict[str, Any] = {
        "name": "exp1",
        "namespace": "team",
        "researcher": "ada",
        "gpu": "t4",
        "size": Size(4, 2, 1),
        "image": "example/image",
        "is_platform_image": True,
        "arguments": ["train.py", "--lr", "0.1"],
    }
    return Submission(**values | changes)


def container_of(job: dict[str, Any]) -> dict[str, Any]:
    (container,) = job["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    found: dict[str, Any] = container
    return found


def test_a_submission_is_a_job_of_the_size_asked_for() -> None:
    job = parse_job(build_job(submission(max_dollars=12.5, capacity="spot", pools=["t4-spot"])))
    assert (job.replicas, job.min_replicas, job.max_replicas) == (4, 2, 4)
    assert job.gpus_per_worker == 1
    assert (job.placement.gpu, job.placement.capacity) == ("t4", "spot")
    assert job.placement.pools == ("t4-spot",)
    assert job.budget.max_dollars == 12.5
    assert job.labels[contract.LABEL_RESEARCHER] == "ada"


def test_the_script_finds_its_output_folder_its_variables_and_the_keys_of_its_secrets() -> None:
    container = container_of(build_job(submission(environment={"A": "1"}, secrets=["tracker"])))
    variables = {each["name"]: each["value"] for each in container["env"]}
    assert variables == {contract.ENV_OUTPUT: "/mnt/efs/output/exp1", "A": "1"}
    assert container["envFrom"] == [{"secretRef": {"name": "tracker"}}]
    assert container["volumeMounts"][0]["mountPath"] == "/mnt/efs"


def test_the_output_folder_may_be_another_one() -> None:
    given = {contract.ENV_OUTPUT: "/mnt/efs/output/earlier"}
    container = container_of(build_job(submission(environment=given)))
    assert container["env"] == [{"name": contract.ENV_OUTPUT, "value": "/mnt/efs/output/earlier"}]


def test_only_the_platforms_own_image_is_held_to_its_user() -> None:
    own, other = (
        build_job(submission(is_platform_image=given))["spec"]["replicaSpecs"]["Worker"]
        for given in (True, False)
    )
    assert own["template"]["spec"]["securityContext"]["runAsUser"] == contract.JOB_UID
    assert "runAsUser" not in other["template"]["spec"]["securityContext"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        pytest.param({"name": "Exp_1"}, "metadata.name", id="name"),
        pytest.param({"name": "x" * 60}, "shorten it", id="long-name"),
        pytest.param({"size": Size(4000, 1, 1)}, "1000", id="size"),
    ],
)
def test_a_job_that_cannot_be_is_refused_in_one_line(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says) as refused:
        build_job(submission(**changes))
    assert "\n" not in refused.value.message


@pytest.mark.parametrize(
    ("user", "label"),
    [
        ("ada", "ada"),
        ("ada@example.org", "ada"),
        ("arn:aws:sts::1:assumed-role/Team/ada@example.org", "ada"),
        ("system:serviceaccount:team:robot", "robot"),
        ("Ada Lovelace", "Ada-Lovelace"),
        ("-_x_-", "x"),
        ("x" * 70, "x" * 63),
        ("", ""),
    ],
)
def test_a_users_name_becomes_a_label(user: str, label: str) -> None:
    assert researcher_label(user) == label
