"""Who is told, by whom, and who else could."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from components.aws.reference import ClusterReference
from components.aws.watch.notifications import MESSAGE, SUBJECT, Notifications, NotificationsArgs
from components.platform.alert_routes import alert_config
from components.platform.metrics_values import MetricsShape, chart_values
from spotrain import contract
from stacks.recorder import Recording

EMAILS = ("ada@example.com", "eve@example.com")
MakeCluster = Callable[[], ClusterReference]


@pytest.fixture
def made(build: Any, cluster: MakeCluster, tags: Mapping[str, str]) -> tuple[Recording, Any]:
    kept: list[Notifications] = []

    def program() -> None:
        args = NotificationsArgs(cluster=cluster(), emails=EMAILS, tags=tags)
        kept.append(Notifications("notifications", args))

    return build(program), kept[0].receiver


def test_everybody_named_gets_mail(made: Any) -> None:
    recording, _ = made
    told = recording.of_type("aws:sns/topicSubscription:TopicSubscription")
    assert {each.inputs["endpoint"] for each in told} == set(EMAILS)
    assert {each.inputs["protocol"] for each in told} == {"email"}


def test_messages_are_encrypted_at_rest_and_on_their_way(made: Any, find: Any) -> None:
    recording, _ = made
    topic = find.one(recording, "aws:sns/topic:Topic")
    assert topic.inputs["kmsMasterKeyId"] == "alias/aws/sns"
    (refusal,) = find.policies(recording)["notifications-topic.policy"]["Statement"]
    assert refusal["Effect"] == "Deny"
    assert refusal["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_nobody_but_alertmanager_may_publish_and_it_may_nothing_else(made: Any, find: Any) -> None:
    recording, receiver = made
    topic = find.one(recording, "aws:sns/topic:Topic")
    (right,) = find.policies(recording)["notifications-identity-policy.policy"]["Statement"]
    assert right == {
        "Effect": "Allow",
        "Action": ["sns:Publish"],
        "Resource": [f"arn:aws:sns:us-east-1:123456789012:{topic.name}"],
    }
    identity = find.one(recording, "aws:eks/podIdentityAssociation:PodIdentityAssociation").inputs
    assert identity["namespace"] == contract.MONITORING_NAMESPACE
    assert identity["serviceAccount"] == contract.ALERTS_ACCOUNT
    assert len(receiver.ready) == 1


def test_alertmanager_runs_under_the_account_that_may_publish() -> None:
    shape = MetricsShape(days=1, disk_gib=5, own_disk=False, receiver=None)
    account = chart_values(shape)["alertmanager"]["serviceAccount"]
    assert account == {"name": contract.ALERTS_ACCOUNT}


def test_a_message_says_what_happened_and_what_to_do(made: Any) -> None:
    _, receiver = made
    config = alert_config(receiver)
    assert [each["name"] for each in config["receivers"]] == [
        "nobody",
        "people-event",
        "people-state",
    ]
    for each in config["receivers"][1:]:
        (settings,) = each["sns_configs"]
        assert settings["sigv4"] == {"region": "us-east-1"}
        assert settings["subject"] == SUBJECT
        for part in ("summary", "description", "runbook"):
            assert f".Annotations.{part}" in settings["message"] == MESSAGE


def test_an_event_is_told_once_and_a_state_until_it_is_over(made: Any) -> None:
    _, receiver = made
    config = alert_config(receiver)
    ends = {r["name"]: r["sns_configs"][0]["send_resolved"] for r in config["receivers"][1:]}
    assert ends == {"people-event": False, "people-state": True}


def test_no_subject_is_longer_than_sns_takes() -> None:
    assert '"%.99s"' in SUBJECT
    assert "\n" not in SUBJECT


def test_a_topic_of_one_stack_is_not_that_of_another(made: Any) -> None:
    recording, _ = made
    (topic,) = recording.of_type("aws:sns/topic:Topic")
    assert topic.inputs.keys().isdisjoint({"name", "namePrefix"})
