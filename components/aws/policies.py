"""IAM policy documents as data. No wildcard action exists here: `allow` refuses one."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

Conditions = Mapping[str, Mapping[str, Any]]


def allow(
    actions: Sequence[str],
    resources: Sequence[pulumi.Input[str]],
    *,
    conditions: Conditions | None = None,
) -> dict[str, Any]:
    """One statement; `resources` may hold outputs."""
    if any("*" in action for action in actions):
        raise ValueError(f"{actions} holds a wildcard; name every action")
    statement: dict[str, Any] = {
        "Effect": "Allow",
        "Action": list(actions),
        "Resource": list(resources),
    }
    return {**statement, "Condition": dict(conditions)} if conditions else statement


def document(statements: Sequence[Mapping[str, Any]]) -> pulumi.Output[str]:
    """A policy document as JSON; its statements may hold outputs."""
    return pulumi.Output.json_dumps({"Version": "2012-10-17", "Statement": list(statements)})


def service_trust(service: str) -> str:
    """Who may assume a role: one AWS service."""
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": service},
        "Action": ["sts:AssumeRole"],
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def own_service_trust(
    service: str, *, account: pulumi.Input[str], source: pulumi.Input[str]
) -> pulumi.Output[str]:
    """Who may assume a role: one AWS service, and only for what one has oneself.

    A service acts for many customers; without these conditions it could be made to use the role for
    somebody in another account. Only for services that name their source: a condition on what is
    not named refuses everybody. `source` is the pattern of an ARN.
    """
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": service},
        "Action": ["sts:AssumeRole"],
        "Condition": {
            "StringEquals": {"aws:SourceAccount": account},
            "ArnLike": {"aws:SourceArn": source},
        },
    }
    return document([statement])


def pod_trust(
    *, cluster_arn: pulumi.Input[str], namespace: str, service_account: str
) -> pulumi.Output[str]:
    """Who may assume a role: the pods of one service account of one cluster.

    EKS Pod Identity states all three as request tags, so that a role is useless to any other pod.
    """
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "pods.eks.amazonaws.com"},
        "Action": ["sts:AssumeRole", "sts:TagSession"],
        "Condition": {
            "StringEquals": {
                "aws:RequestTag/eks-cluster-arn": cluster_arn,
                "aws:RequestTag/kubernetes-namespace": namespace,
                "aws:RequestTag/kubernetes-service-account": service_account,
            }
        },
    }
    return document([statement])


def ec2_resources(cluster_arn: pulumi.Output[str], kind: str) -> pulumi.Output[str]:
    """Every resource of a kind in the cluster's partition, region and account."""

    def every(arn: str) -> str:
        _, partition, _, region, account, _ = arn.split(":", 5)
        return f"arn:{partition}:ec2:{region}:{account}:{kind}/*"

    return cluster_arn.apply(every)
