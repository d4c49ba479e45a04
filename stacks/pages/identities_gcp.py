"""Every identity of a stack on Google Cloud with its exact rights, as a page."""

from collections.abc import Iterator, Mapping, Sequence

from stacks.pages.stacks import GCP_QUARRY, recording_of
from stacks.recorder import Recording, Registration

HEAD = """# Identities on Google Cloud

Who can act in the project by a stack (with every option switched on), and exactly what they may do.
Nothing else in the program can act there. Pods have their rights by Workload Identity Federation,
bound to one service account of one namespace: no key, and no account of Google's, stands between.
Google knows them by project, namespace and account: the same account in another cluster of the
project has the same rights, so give a second stack a project of its own.

This page is written by `make config-reference` from what the program registers.
"""
GRANTS: Mapping[str, tuple[str, str]] = {
    "gcp:projects/iAMMember:IAMMember": ("project", "the project"),
    "gcp:storage/bucketIAMMember:BucketIAMMember": ("bucket", "the bucket"),
    "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember": (
        "repository",
        "the repository of the images",
    ),
    "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember": ("cryptoKeyId", "the key of the secrets"),
}
"""Type -> the input that says where a right holds, and what that is."""
ROLE = "gcp:projects/iAMCustomRole:IAMCustomRole"
WHO: Mapping[str, str] = {
    "node-account-account": "Nodes: they say how they are, and pull images; pods cannot reach "
    "these rights",
    "cluster-key-gke": "GKE itself: it encrypts the cluster's secrets, on request",
    "ns/spotrain-system/sa/spotrain-prices": "The price refresher: what machines are made of",
    "ns/elastic-job/sa/default": "Jobs: they read the bucket of this stack, and write to its "
    "output/, on request",
    "user:": "People: they reach the control plane; the cluster says what they may do there",
    "group:": "Groups of people, likewise",
    "serviceAccount:ci@": "A machine that runs this program, likewise",
}
"""Part of a member -> who that is."""


def page() -> str:
    """The whole page."""
    recording = recording_of(GCP_QUARRY)
    rows = [row for kind in GRANTS for row in _rows(recording, kind)]
    parts = [HEAD]
    for part, who in WHO.items():
        mine = [f"| {may} | {on} | {condition} |" for m, may, on, condition in rows if part in m]
        if not mine:
            raise LookupError(f"nobody is {part}; take it out of stacks/pages/identities_gcp.py")
        title, _, why = who.partition(": ")
        head = f"## {title}\n\n{why[0].upper()}{why[1:]}.\n" if why else f"## {title}\n"
        table = ["| may | on | if |", "| --- | --- | --- |", *dict.fromkeys(mine), ""]
        parts.append("\n".join([head, *table]))
    strangers = [member for member, *_ in rows if not any(part in member for part in WHO)]
    if strangers:
        raise LookupError(f"{strangers} are not in WHO of stacks/pages/identities_gcp.py")
    return "\n".join(parts)


def _rows(recording: Recording, kind: str) -> Iterator[tuple[str, str, str, str]]:
    roles = {role.name: role for role in recording.of_type(ROLE)}
    for grant in recording.of_type(kind):
        condition = grant.inputs.get("condition", {}).get("expression", "")
        said = f"`{condition}`" if condition else ""
        yield grant.inputs["member"], _may(grant, roles), GRANTS[kind][1], said


def _may(grant: Registration, roles: Mapping[str, Registration]) -> str:
    role: str = grant.inputs["role"]
    if role not in roles:
        return f"`{role}` (Google's own role)"
    permissions: Sequence[str] = roles[role].inputs["permissions"]
    return ", ".join(f"`{permission}`" for permission in permissions)
