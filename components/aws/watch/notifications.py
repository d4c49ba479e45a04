"""Messages for people: Alertmanager publishes to a topic, the topic sends e-mail."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws import policies
from components.aws.pod_role import PodRole, PodRoleArgs
from components.aws.reference import ClusterReference
from components.cloud import AlertReceiver
from spotrain import contract

KEY = "alias/aws/sns"
"""AWS's own key: it serves whoever in the account may publish, and costs nothing. Only AWS services
that publish as themselves would need a key of ours, and none does here."""
SUBJECT = (
    '{{ printf "%.99s" (printf "[%s] %s in %s (%d)" '
    ".Status .GroupLabels.alertname .GroupLabels.namespace (len .Alerts)) }}"
)
"""SNS refuses a message whose subject has more than 99 characters."""
MESSAGE = (
    "{{ range .Alerts }}"
    '{{ if eq .Status "resolved" }}Over: {{ end }}{{ .Annotations.summary }}\n'
    "{{ .Annotations.description }}\n"
    "{{ .Annotations.runbook }}\n\n"
    "{{ end }}"
)


@dataclass(frozen=True, kw_only=True)
class NotificationsArgs:
    cluster: ClusterReference
    emails: tuple[str, ...]
    """Each must confirm a first message."""
    tags: Mapping[str, str]


class Notifications(pulumi.ComponentResource):
    """A topic, who reads it, and the one service account that may publish to it."""

    receiver: AlertReceiver

    def __init__(
        self, name: str, args: NotificationsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:Notifications", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        topic = aws.sns.Topic(
            f"{name}-topic", kms_master_key_id=KEY, tags=dict(args.tags), opts=self._child
        )
        aws.sns.TopicPolicy(
            f"{name}-topic", arn=topic.arn, policy=_refuse_plain_text(topic.arn), opts=self._child
        )
        for email in args.emails:
            aws.sns.TopicSubscription(
                f"{name}-{email.replace('@', '-at-')}",
                topic=topic.arn,
                protocol="email",
                endpoint=email,
                opts=self._child,
            )
        self.receiver = AlertReceiver(
            kind="sns_configs",
            settings={
                "topic_arn": topic.arn,
                "sigv4": {"region": args.cluster.region},
                "subject": SUBJECT,
                "message": MESSAGE,
            },
            ready=(self._identity(topic.arn),),
        )
        self.register_outputs({})

    def _identity(self, topic_arn: pulumi.Output[str]) -> aws.eks.PodIdentityAssociation:
        args = self._args
        role = PodRole(
            f"{self._name}-identity",
            PodRoleArgs(
                cluster_arn=args.cluster.arn,
                namespace=contract.MONITORING_NAMESPACE,
                service_account=contract.ALERTS_ACCOUNT,
                statements=[policies.allow(["sns:Publish"], [topic_arn])],
                tags=args.tags,
            ),
            self._child,
        )
        return aws.eks.PodIdentityAssociation(
            f"{self._name}-identity",
            cluster_name=args.cluster.name,
            namespace=contract.MONITORING_NAMESPACE,
            service_account=contract.ALERTS_ACCOUNT,
            role_arn=role.arn,
            tags=dict(args.tags),
            # Given out with its rights, or the first message would fail.
            opts=pulumi.ResourceOptions.merge(
                self._child, pulumi.ResourceOptions(depends_on=list(role.ready))
            ),
        )


def _refuse_plain_text(topic_arn: pulumi.Output[str]) -> pulumi.Output[str]:
    """It grants nothing, unlike the policy that SNS makes by itself: rights come from roles."""
    statement = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": ["sns:Publish"],
        "Resource": [topic_arn],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    return policies.document([statement])
