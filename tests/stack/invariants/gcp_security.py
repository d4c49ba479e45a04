"""Who may do and reach what on Google Cloud, what is encrypted, and what is named how."""

import json
from collections.abc import Iterator
from ipaddress import IPv4Network

from stacks.gcp.schema import GcpSettings
from tests.stack.invariants.registry import Built, on_gcp, strings

PLANE, BUCKET = "gcp:container/cluster:Cluster", "gcp:storage/bucket:Bucket"
GRANTS = (
    "gcp:projects/iAMMember:IAMMember",
    "gcp:storage/bucketIAMMember:BucketIAMMember",
    "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember",
    "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember",
)
PREDEFINED = {
    "roles/container.defaultNodeServiceAccount": "Google's least for a node",
    "roles/artifactregistry.reader": "on one repository",
    "roles/cloudkms.cryptoKeyEncrypterDecrypter": "on one key",
    "roles/storage.objectViewer": "on one bucket",
    "roles/storage.objectUser": "on one bucket, with a condition: under output/",
}
"""Roles of Google's that may be granted, and why none of our own would be narrower."""
WHOLE_PROJECT = {
    "node-account-account": "a node belongs to no other resource",
    "prices-identity": "machine types belong to the project",
    "cluster-access-": "IAM takes no condition on a cluster's name for this permission",
}
"""Beginning of the grant's name -> why it is for the project."""
OPEN = 16
"""A block wider than this is the world."""
FIXED_NAMES = ("name", "accountId", "repositoryId", "roleId")


def grants(built: Built) -> list[tuple[str, str, str]]:
    """Name, role, member."""
    return [(g.name, g.inputs["role"], g.inputs["member"]) for g in built.of_type(*GRANTS)]


@on_gcp
def no_iam_action_is_a_wildcard(built: Built) -> Iterator[str]:
    ours = built.of_type("gcp:projects/iAMCustomRole:IAMCustomRole")
    for role in ours:
        for permission in role.inputs["permissions"]:
            if "*" in permission or permission.count(".") != 2:
                yield f"{role.name} has {permission}"
    names = {role.name for role in ours}
    for name, role_name, _ in grants(built):
        if role_name not in PREDEFINED and role_name not in names:
            yield f"{name} grants {role_name}"


@on_gcp
def a_wildcard_resource_has_a_reason(built: Built) -> Iterator[str]:
    for grant in built.of_type("gcp:projects/iAMMember:IAMMember"):
        if not grant.name.startswith(tuple(WHOLE_PROJECT)):
            yield f"{grant.name} is for the whole project"
    for grant in built.of_type("gcp:storage/bucketIAMMember:BucketIAMMember"):
        writes = grant.inputs["role"] != "roles/storage.objectViewer"
        expression = grant.inputs.get("condition", {}).get("expression", "")
        if writes and not expression.endswith('/objects/output/")'):
            yield f"{grant.name} may write everywhere"


@on_gcp
def only_named_pods_and_services_assume_a_role(built: Built) -> Iterator[str]:
    for name, _, member in grants(built):
        kind = member.partition(":")[0]
        if kind not in ("user", "group", "serviceAccount", "principal"):
            yield f"{name} is for {member}"
        if kind == "principal" and "/subject/ns/" not in member:
            yield f"{name} is for every pod: {member}"


@on_gcp
def no_endpoint_is_open_to_the_world(built: Built) -> Iterator[str]:
    for resource in built.recording.resources:
        for text in strings(resource.inputs.get("masterAuthorizedNetworksConfig")):
            if "/" in text and IPv4Network(text).prefixlen < OPEN:
                yield f"{resource.name} admits {text}"
    (plane,) = built.of_type(PLANE)
    admitted = plane.inputs.get("masterAuthorizedNetworksConfig") or {}
    if by_address(built) and not admitted.get("cidrBlocks"):
        yield "the API's address is open to everybody"
    if admitted and admitted.get("gcpPublicCidrsAccessEnabled") is not False:
        yield "every machine in Google's cloud is let through"
    if not plane.inputs["privateClusterConfig"]["enablePrivateNodes"]:
        yield "nodes have public addresses"
    yield from (f"{f.name} opens a way in" for f in built.of_type("gcp:compute/firewall:Firewall"))


def by_address(built: Built) -> bool:
    (plane,) = built.of_type(PLANE)
    endpoints = plane.inputs["controlPlaneEndpointsConfig"]
    return bool(endpoints["ipEndpointsConfig"]["enabled"])


@on_gcp
def the_endpoint_is_what_the_stack_file_says(built: Built) -> Iterator[str]:
    assert isinstance(built.settings, GcpSettings)
    access = built.settings.network.api_access
    (plane,) = built.of_type(PLANE)
    by_name = plane.inputs["controlPlaneEndpointsConfig"]["dnsEndpointConfig"]
    if by_address(built) is access.dns or by_name["allowExternalTraffic"] is not access.dns:
        yield f"dns is {access.dns}, and the endpoints are otherwise"
    admitted = (plane.inputs.get("masterAuthorizedNetworksConfig") or {}).get("cidrBlocks", [])
    if [block["cidrBlock"] for block in admitted] != [str(block) for block in access.cidrs]:
        yield f"admitted: {admitted}"


@on_gcp
def the_control_plane_has_no_old_or_anonymous_way_in(built: Built) -> Iterator[str]:
    (plane,) = built.of_type(PLANE)
    inputs = plane.inputs
    bindings = inputs.get("rbacBindingConfig", {})
    told = {
        "attribute-based rights": inputs.get("enableLegacyAbac"),
        "certificates": inputs["masterAuth"]["clientCertificateConfig"]["issueClientCertificate"],
        "rights for everybody": bindings.get("enableInsecureBindingSystemAuthenticated"),
        "rights for nobody": bindings.get("enableInsecureBindingSystemUnauthenticated"),
    }
    yield from (f"{what}: {value}" for what, value in told.items() if value is not False)
    if inputs.get("datapathProvider") != "ADVANCED_DATAPATH":
        yield "network policies have no effect"
    if not inputs.get("workloadIdentityConfig", {}).get("workloadPool"):
        yield "pods have the node's identity"


@on_gcp
def nothing_that_stores_bytes_is_unencrypted(built: Built) -> Iterator[str]:
    """Google encrypts everything at rest; what may have a key of the stack's own has one."""
    assert isinstance(built.settings, GcpSettings)
    (plane,) = built.of_type(PLANE)
    has_key = plane.inputs.get("databaseEncryption", {}).get("state") == "ENCRYPTED"
    if has_key is not built.settings.cluster.secrets_key:
        yield f"secrets in the cluster have a key of ours: {has_key}"


@on_gcp
def no_bucket_is_public(built: Built) -> Iterator[str]:
    for bucket in built.of_type(BUCKET):
        if bucket.inputs.get("publicAccessPrevention") != "enforced":
            yield f"{bucket.name} can be made public"
        if bucket.inputs.get("uniformBucketLevelAccess") is not True:
            yield f"{bucket.name}: each object has rights of its own"


@on_gcp
def every_taggable_resource_carries_project_and_stack(built: Built) -> Iterator[str]:
    """The provider labels what takes labels; nodes, and what drivers make, are told."""
    wanted = {"project": "spotrain", "stack": built.name}
    (provider,) = built.of_type("pulumi:providers:gcp")
    if json.loads(provider.inputs.get("defaultLabels", "{}")) != wanted:
        yield f"the provider labels with {provider.inputs.get('defaultLabels')}"
    for pool in built.of_type("gcp:container/nodePool:NodePool"):
        labels = pool.inputs["nodeConfig"].get("resourceLabels") or {}
        if not wanted.items() <= labels.items() or "pool" not in labels:
            yield f"{pool.name} has labels {labels}"
    for kind in built.of_type("kubernetes:storage.k8s.io/v1:StorageClass"):
        if kind.inputs["parameters"].get("labels") != f"project=spotrain,stack={built.name}":
            yield f"{kind.name} makes file systems without labels"


@on_gcp
def a_physical_name_has_a_reason_and_a_random_part(built: Built) -> Iterator[str]:
    """Names inside a cluster are nobody else's; of the others Google wants some to be given."""
    random = built.named("project-suffix")
    for resource in built.recording.resources:
        if not resource.type.startswith("gcp:") or resource.type.endswith(":NodePool"):
            continue
        for key in FIXED_NAMES:
            name = resource.inputs.get(key)
            if name and not name.endswith(SUFFIX):
                yield f"{resource.name}.{key} is {name}: another stack may have it"
    if random.type != "random:index/randomString:RandomString":
        yield "the suffix is not random"


SUFFIX = "0a1b2c"
"""The stand-in's random letters."""


@on_gcp
def every_resource_is_in_the_stack_files_region(built: Built) -> Iterator[str]:
    assert isinstance(built.settings, GcpSettings)
    (provider,) = built.of_type("pulumi:providers:gcp")
    told = (provider.inputs["project"], provider.inputs["region"])
    if told != (built.settings.project, built.settings.region):
        yield f"the provider is in {told}"
    for resource in built.recording.resources:
        if resource.type.startswith("gcp:") and not resource.provider.startswith(provider.urn):
            yield f"{resource.name} uses {resource.provider or 'the default provider'}"
        for key in ("region", "location"):
            place = resource.inputs.get(key, built.settings.region)
            if resource.type.startswith("gcp:") and not place.startswith(built.settings.region):
                yield f"{resource.name} is in {place}"


@on_gcp
def what_a_stack_retains_is_everything_that_the_data_needs(built: Built) -> Iterator[str]:
    assert isinstance(built.settings, GcpSettings)
    retain = built.settings.storage.retain
    for bucket in built.of_type(BUCKET):
        if bucket.retain_on_delete is not retain or bucket.inputs["forceDestroy"] is retain:
            yield f"{bucket.name}: retained {bucket.retain_on_delete}"
    for kind in built.of_type("kubernetes:storage.k8s.io/v1:StorageClass"):
        if kind.inputs["reclaimPolicy"] != ("Retain" if retain else "Delete"):
            yield f"{kind.name}: {kind.inputs['reclaimPolicy']}"
    for volume in built.of_type("kubernetes:core/v1:PersistentVolumePatch"):
        policy = volume.inputs["spec"]["persistentVolumeReclaimPolicy"]
        if policy != ("Retain" if retain else "Delete") or not volume.retain_on_delete:
            yield f"{volume.name}: {policy}, retained {volume.retain_on_delete}"
    # An instance has an address in its network for life, and holds the network while it is there.
    needed = retain and built.settings.storage.server is None
    for part in built.of_type("gcp:compute/network:Network", "gcp:compute/subnetwork:Subnetwork"):
        if part.retain_on_delete is not needed:
            yield f"{part.name}: retained {part.retain_on_delete}"
