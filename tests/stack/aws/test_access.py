"""Who reaches the Kubernetes API, and as what."""

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Any

from components.aws.cluster.access import Access, AccessArgs
from spotrain import contract
from stacks.recorder import Recording

ENTRY = "aws:eks/accessEntry:AccessEntry"
GRANT = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
ADA = "arn:aws:iam::123456789012:role/team/ada"
EVE = "arn:aws:iam::123456789012:user/eve"


def access(
    build: Any,
    tags: Mapping[str, str],
    *,
    admins: tuple[str, ...] = (),
    researchers: tuple[str, ...] = (),
    networks: tuple[str, ...] = (),
) -> Recording:
    args = AccessArgs(
        cluster_name="mine",
        security_group_id="sg",
        networks=tuple(map(IPv4Network, networks)),
        admins=admins,
        researchers=researchers,
        tags=tags,
    )
    recording: Recording = build(lambda: Access("access", args))
    return recording


def test_an_admin_has_an_entry_and_every_right(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    recording = access(build, tags, admins=(ADA,))
    entry, grant = find.one(recording, ENTRY).inputs, find.one(recording, GRANT).inputs
    assert entry["principalArn"] == grant["principalArn"] == ADA
    assert entry["kubernetesGroups"] == []
    assert grant["policyArn"].endswith("/AmazonEKSClusterAdminPolicy")
    assert grant["accessScope"] == {"type": "cluster"}


def test_a_researcher_is_in_the_researchers_group_and_has_no_right_from_aws(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    recording = access(build, tags, researchers=(EVE,))
    entry = find.one(recording, ENTRY).inputs
    assert entry["principalArn"] == EVE
    assert entry["kubernetesGroups"] == [contract.RESEARCHERS_GROUP]
    assert entry["type"] == "STANDARD"  # no other type takes a group
    assert recording.of_type(GRANT) == []


def test_the_researchers_group_is_a_name_that_eks_takes() -> None:
    reserved = ("system:", "eks:", "aws:", "amazon:", "iam:")
    assert not contract.RESEARCHERS_GROUP.startswith(reserved)


def test_a_researcher_who_becomes_an_admin_keeps_the_entry(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    """EKS has one entry for each principal; a new one would come before the old one goes."""
    before = find.one(access(build, tags, researchers=(EVE,)), ENTRY)
    after = find.one(access(build, tags, admins=(EVE,)), ENTRY)
    assert before.urn == after.urn


def test_principals_of_like_names_have_entries_of_their_own(
    build: Any, tags: Mapping[str, str]
) -> None:
    likes = tuple(f"arn:aws:iam::123456789012:role/{name}" for name in ("a/b", "a-b", "b"))
    recording = access(build, tags, admins=likes)
    assert recording.duplicates() == []
    assert len(recording.of_type(ENTRY)) == 3


def test_a_network_reaches_the_api_and_nothing_else(build: Any, tags: Mapping[str, str]) -> None:
    recording = access(build, tags, networks=("10.0.0.0/16", "10.8.0.0/16"))
    rules = [rule.inputs for rule in recording.of_type(INGRESS)]
    assert [rule["cidrIpv4"] for rule in rules] == ["10.0.0.0/16", "10.8.0.0/16"]
    assert all(rule["fromPort"] == rule["toPort"] == 443 for rule in rules)
    assert all(rule["ipProtocol"] == "tcp" for rule in rules)


def test_whoever_uses_the_cluster_can_wait_for_every_way_in(build: Any, tags: Any) -> None:
    waited: list[int] = []

    def program() -> None:
        args = AccessArgs(
            cluster_name="mine",
            security_group_id="sg",
            networks=(IPv4Network("10.0.0.0/16"),),
            admins=(ADA,),
            researchers=(EVE,),
            tags=tags,
        )
        waited.append(len(Access("access", args).ready))

    made = [r for r in build(program).resources if r.custom]
    assert waited == [len(made)]
