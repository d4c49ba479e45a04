"""Every identity of a stack on AWS with its exact rights, as a page."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from stacks.pages.stacks import QUARRY, recording_of
from stacks.recorder import Recording, Registration

HEAD = """# Identities

Every AWS identity that a stack can have (with every option switched on), who may take it, and
exactly what it may do. Nothing else in the program can act in AWS. Pods have their rights by EKS
Pod Identity, bound to one service account of one cluster; nodes have what they need to join and to
pull images. `*` stands only where AWS knows no narrower resource.

This page is written by `make config-reference` from what the program registers.
"""
REASONS: Mapping[str, str] = {
    "autoscaler-identity": "adds and removes GPU nodes; only groups that carry this cluster's tag",
    "block-storage-driver-ebs-csi-controller-sa": "attaches the metrics' disk to managers",
    "cluster-identity": "the control plane attaches its network interfaces, and checks its key",
    "container-logs-identity": "writes what containers say to one log group, on request",
    "drill": "takes back spot nodes of this stack for `spotrain drill --real`, on request",
    "network-flow-logs": "writes the records of connections, when a stack asks for them",
    "node-addons-network-aws-node": "the pod network attaches addresses to nodes",
    "notifications-identity": "Alertmanager tells people, by one topic, on request",
    "nodes": "joins the cluster and pulls images; pods cannot reach these rights",
    "prices-identity": "asks EC2 what spot nodes cost in this region",
    "storage-driver-efs-csi-controller-sa": "makes and removes access points of this file system",
    "storage-files-backup": "AWS Backup copies the file system; the policy is AWS's own, and wide",
    "storage-bucket-jobs": "jobs read the bucket of this stack, and write to its output/",
    "storage-bucket-driver": "lists, reads, writes and deletes in the bucket of this stack",
}
"""Name of the identity -> what it is for."""


def page() -> str:
    """The whole page."""
    recording = recording_of(QUARRY.stem)
    parts = [HEAD]
    for role in sorted(recording.of_type("aws:iam/role:Role"), key=lambda role: role.name):
        name = role.name.removesuffix("-role")
        parts.append(f"## {name}\n\nFor: {REASONS[name]}.\n\nTaken by: {_taker(role)}.\n")
        rows = list(_rights(recording, role))
        parts.append("\n".join(["| may | on | if |", "| --- | --- | --- |", *rows, ""]))
    return "\n".join(parts)


def _taker(role: Registration) -> str:
    (statement,) = json.loads(role.inputs["assumeRolePolicy"])["Statement"]
    service = statement["Principal"]["Service"]
    equals = statement.get("Condition", {}).get("StringEquals", {})
    namespace = equals.get("aws:RequestTag/kubernetes-namespace")
    account = equals.get("aws:RequestTag/kubernetes-service-account")
    if account:
        return f"pods of the service account `{namespace}/{account}`"
    return f"the AWS service `{service}`"


def _rights(recording: Recording, role: Registration) -> Iterator[str]:
    for attachment in recording.of_type("aws:iam/rolePolicyAttachment:RolePolicyAttachment"):
        if attachment.inputs["role"] == role.name:
            yield f"| `{attachment.inputs['policyArn'].rsplit('/')[-1]}` (AWS's own policy) | | |"
    for policy in recording.of_type("aws:iam/rolePolicy:RolePolicy"):
        if policy.inputs["role"] == f"{role.name}-id":
            for statement in json.loads(policy.inputs["policy"])["Statement"]:
                yield _row(statement)


def _row(statement: Mapping[str, Any]) -> str:
    def listed(key: str) -> str:
        value = statement.get(key, [])
        return ", ".join(f"`{item}`" for item in ([value] if isinstance(value, str) else value))

    conditions = [
        f"`{key}` is `{value}`"
        for tests in statement.get("Condition", {}).values()
        for key, value in tests.items()
    ]
    return f"| {listed('Action')} | {listed('Resource')} | {', '.join(conditions)} |"
