"""What is asked of AWS to take back an instance, and what becomes of its answers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.stub import Stubber  # type: ignore[import-untyped]
from moto import mock_aws

from spotrain.clouds.answers import NotInterrupted
from spotrain.clouds.interruption import (
    ACTION,
    START_SECONDS,
    Instance,
    connect,
    find_spot,
    instance_of,
    interrupted,
    template,
)

ID = "i-0123456789abcdef0"
ARN = f"arn:aws:ec2:us-east-1:123456789012:instance/{ID}"
ROLE = "arn:aws:iam::123456789012:role/drill"
HERE = Instance(ID, "us-east-1")


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made up: nothing here may reach an account."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")


def client(service: str) -> Iterator[tuple[Any, Any]]:
    made = connect(service, "us-east-1")
    with Stubber(made) as stubber:
        yield made, stubber
        stubber.assert_no_pending_responses()


@pytest.fixture
def ec2() -> Iterator[tuple[Any, Any]]:
    yield from client("ec2")


@pytest.fixture
def fis() -> Iterator[tuple[Any, Any]]:
    yield from client("fis")


# --- Which instance ---


@pytest.mark.parametrize(
    ("provider_id", "region"),
    [
        (f"aws:///us-east-1a/{ID}", "us-east-1"),
        (f"aws:///ap-southeast-2c/{ID}", "ap-southeast-2"),
        (f"aws:///us-west-2-lax-1a/{ID}", "us-west-2"),
    ],
)
def test_a_node_of_ec2_names_its_instance_and_region(provider_id: str, region: str) -> None:
    assert instance_of(provider_id) == Instance(ID, region)


@pytest.mark.parametrize(
    "provider_id", ["", "kind://docker/kind/node", "gce://p/us-central1-a/i-0123456789abcdef0"]
)
def test_a_node_of_anybody_else_is_refused(provider_id: str) -> None:
    with pytest.raises(NotInterrupted, match="without --real"):
        instance_of(provider_id)


def described(**changes: Any) -> dict[str, Any]:
    instance = {"InstanceId": ID, "InstanceLifecycle": "spot", "State": {"Name": "running"}}
    instance = {key: value for key, value in {**instance, **changes}.items() if value}
    return {"Reservations": [{"OwnerId": "123456789012", "Instances": [instance]}]}


def test_a_spot_instance_that_runs_is_found(ec2: Any) -> None:
    asked, answers = ec2
    answers.add_response("describe_instances", described(), {"InstanceIds": [ID]})
    assert find_spot(asked, HERE) == ARN


def test_in_another_partition_its_name_is_another() -> None:
    asked = connect("ec2", "us-gov-west-1")
    with Stubber(asked) as answers:
        answers.add_response("describe_instances", described())
        found = find_spot(asked, Instance(ID, "us-gov-west-1"))
    assert found == f"arn:aws-us-gov:ec2:us-gov-west-1:123456789012:instance/{ID}"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        pytest.param({"InstanceLifecycle": None}, "no spot instance", id="on-demand"),
        pytest.param({"State": {"Name": "shutting-down"}}, "does not run", id="going"),
    ],
)
def test_what_aws_would_not_take_back_is_refused_before_anything_is_made(
    ec2: Any, changes: dict[str, Any], says: str
) -> None:
    asked, answers = ec2
    answers.add_response("describe_instances", described(**changes))
    with pytest.raises(NotInterrupted, match=says):
        find_spot(asked, HERE)


@pytest.mark.parametrize(
    ("code", "says"),
    [("UnauthorizedOperation", "ask for that right"), ("InvalidInstanceID.NotFound", "account")],
)
def test_a_refusal_of_ec2_says_what_to_do(ec2: Any, code: str, says: str) -> None:
    asked, answers = ec2
    answers.add_client_error("describe_instances", code, "no")
    with pytest.raises(NotInterrupted, match=says):
        find_spot(asked, HERE)


# --- The experiment ---


def test_the_experiment_hits_this_instance_and_no_other() -> None:
    made = template(ARN, ROLE)
    assert made["targets"]["worker"]["resourceArns"] == [ARN]
    assert "resourceTags" not in made["targets"]["worker"]
    assert made["actions"]["interrupt"]["actionId"] == ACTION


def test_the_service_takes_the_template_as_it_is() -> None:
    with mock_aws():
        made = connect("fis", "us-east-1").create_experiment_template(**template(ARN, ROLE))
    assert made["experimentTemplate"]["roleArn"] == ROLE


Said = list[str]


def started(answers: Any, *states: str, reason: str = "") -> None:
    """A template is made and an experiment begun, whose action goes through these states."""
    answers.add_response("create_experiment_template", {"experimentTemplate": {"id": "EXT1"}})
    answers.add_response("start_experiment", {"experiment": {"id": "EXP1"}})
    for state in states:
        tells(answers, state, reason=reason)


def tells(answers: Any, state: str, *, reason: str = "") -> None:
    told = {"state": {"status": "running"}}
    action = {"interrupt": {"state": {"status": state, "reason": reason}}}
    answers.add_response(
        "get_experiment", {"experiment": {**told, "actions": action}}, {"id": "EXP1"}
    )


def leaves_no_template(answers: Any) -> None:
    answers.add_response("delete_experiment_template", {}, {"id": "EXT1"})


def stops(answers: Any) -> None:
    answers.add_response("stop_experiment", {}, {"id": "EXP1"})


def entered(asked: Any, waits: list[float] | None = None, said: Said | None = None) -> Any:
    seconds: list[float] = [] if waits is None else waits
    say = (said if said is not None else []).append
    return interrupted(asked, ARN, ROLE, say=say, sleep=seconds.append)


def test_it_is_entered_once_aws_has_begun_and_leaves_no_template(fis: Any) -> None:
    asked, answers = fis
    started(answers, "pending", "initiating", "running")
    leaves_no_template(answers)
    waits: list[float] = []
    said: Said = []
    with entered(asked, waits, said):
        pass
    assert waits == [0.5, 1.0]
    assert said == []


def test_whoever_leaves_in_a_hurry_stops_it_and_nothing_disturbs_that(fis: Any) -> None:
    asked, answers = fis
    started(answers, "running")
    stops(answers)
    leaves_no_template(answers)
    guarded: Said = []

    @contextmanager
    def undisturbed() -> Iterator[None]:
        guarded.append("in")
        yield
        guarded.append("out")

    said: Said = []
    with (
        pytest.raises(KeyboardInterrupt),
        interrupted(asked, ARN, ROLE, say=said.append, undisturbed=undisturbed),
    ):
        raise KeyboardInterrupt
    assert guarded == ["in", "out", "in", "out"]
    assert said == ["stopped the experiment EXP1; a notice that EC2 has sent already stays."]


@pytest.mark.parametrize("status", ["failed", "stopped", "cancelled", "skipped"])
def test_an_experiment_that_fails_says_why_and_leaves_no_template(fis: Any, status: str) -> None:
    asked, answers = fis
    started(answers, "initiating", status, reason="the role may not")
    answers.add_client_error("stop_experiment", "ValidationException", "it is over")
    leaves_no_template(answers)
    said: Said = []
    with (
        pytest.raises(NotInterrupted, match=r"the role may not\. Its role"),
        entered(asked, said=said),
    ):
        raise AssertionError("it must not be entered")
    assert said == []  # nothing is left that anybody had to stop


def test_one_that_fails_after_it_has_begun_is_noticed_too(fis: Any) -> None:
    asked, answers = fis
    started(answers, "running")
    tells(answers, "failed", reason="no such instance")
    stops(answers)
    leaves_no_template(answers)
    with (
        pytest.raises(NotInterrupted, match="no such instance"),
        entered(asked) as experiment,
    ):
        experiment.check()


def test_aws_is_not_asked_at_every_look(fis: Any) -> None:
    asked, answers = fis
    started(answers, "running")
    tells(answers, "running")
    leaves_no_template(answers)
    with entered(asked) as experiment:
        for _ in range(5):
            experiment.check()


def test_an_experiment_that_never_begins_is_given_up_after_two_minutes(fis: Any) -> None:
    asked, answers = fis
    started(answers, *["pending"] * 20)
    stops(answers)
    leaves_no_template(answers)
    waits: list[float] = []
    with (
        pytest.raises(NotInterrupted, match="has not begun"),
        entered(asked, waits),
    ):
        raise AssertionError("it must not be entered")
    assert START_SECONDS <= sum(waits) < START_SECONDS + max(waits)
    assert max(waits) == 8.0


def test_what_cannot_be_undone_is_told_with_the_command_that_does(fis: Any) -> None:
    """The fault that came first is the one that is raised."""
    asked, answers = fis
    started(answers, "running")
    answers.add_client_error("stop_experiment", "ThrottlingException", "slow down")
    answers.add_client_error("delete_experiment_template", "AccessDeniedException", "no")
    said: Said = []
    with pytest.raises(KeyboardInterrupt), entered(asked, said=said):
        raise KeyboardInterrupt
    assert [text.partition("Next: ")[2] for text in said] == [
        "aws fis stop-experiment --id EXP1",
        "aws fis delete-experiment-template --id EXT1",
    ]


def test_without_the_right_nothing_is_started(fis: Any) -> None:
    asked, answers = fis
    answers.add_client_error("create_experiment_template", "AccessDeniedException", "iam:PassRole")
    with (
        pytest.raises(NotInterrupted, match=r"iam:PassRole Next: ask for that right"),
        entered(asked),
    ):
        raise AssertionError("it must not be entered")
