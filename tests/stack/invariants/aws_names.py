"""Tags, names and providers on AWS: two stacks in one account never meet."""

import inspect
from collections.abc import Iterator

import pulumi_aws as aws

from stacks.aws.schema import AwsSettings
from tests.stack.invariants.registry import Built, on_aws

NAME_KEYS = ("name", "namePrefix", "nodeGroupName", "bucket", "bucketPrefix", "family", "alias")
DICTATED = {
    "cluster": "known before the cluster, for its log group; ends in a random part",
    "cluster-logs": "EKS writes to this name",
}
"""Resource -> why its physical name is not Pulumi's; each holds the random part of the cluster."""
RANDOM = "cluster-suffix-id"


@on_aws
def every_taggable_resource_carries_project_and_stack(built: Built) -> Iterator[str]:
    wanted = {"project": "spotrain", "stack": built.name}.items()
    for resource in built.recording.resources:
        if is_taggable(resource.type) and not wanted <= (resource.inputs.get("tags") or {}).items():
            yield f"{resource.name} has tags {resource.inputs.get('tags')}"


def is_taggable(kind: str) -> bool:
    """Whether the class of a resource takes tags."""
    if kind == "eks:index:Cluster":
        return True
    package, module, name = kind.split(":")
    if package != "aws":
        return False
    made = getattr(getattr(aws, module.split("/")[0]), name)
    return "tags" in inspect.signature(made._internal_init).parameters


@on_aws
def a_physical_name_has_a_reason_and_a_random_part(built: Built) -> Iterator[str]:
    for resource in built.recording.resources:
        if not resource.type.startswith(("aws:", "eks:")):
            continue
        refers = resource.type in REFERENCES
        for key in NAME_KEYS:
            name = resource.inputs.get(key)
            if name is None or (refers and key in REFERENCES[resource.type]):
                continue
            if resource.name not in DICTATED:
                yield f"{resource.name}.{key} is {name}: it blocks replacement"
            elif RANDOM not in name:
                yield f"{resource.name}.{key} is {name}: another stack may have it"


REFERENCES: dict[str, tuple[str, ...]] = {
    f"aws:s3/{part[0].lower()}{part[1:]}:{part}": ("bucket",)
    for part in (
        "BucketLifecycleConfiguration",
        "BucketOwnershipControls",
        "BucketPolicy",
        "BucketPublicAccessBlock",
        "BucketServerSideEncryptionConfiguration",
        "BucketVersioning",
    )
}
"""Type -> keys that name another resource, not this one."""


@on_aws
def every_resource_is_in_the_stack_files_region(built: Built) -> Iterator[str]:
    assert isinstance(built.settings, AwsSettings)
    (provider,) = built.of_type("pulumi:providers:aws")
    if provider.inputs["region"] != built.settings.region:
        yield f"the provider is in {provider.inputs['region']}"
    for resource in built.recording.resources:
        ours = resource.provider.startswith(provider.urn)
        if resource.type.startswith("aws:") and not ours:
            yield f"{resource.name} uses {resource.provider or 'the default provider'}"


@on_aws
def what_a_stack_retains_is_everything_that_the_data_needs(built: Built) -> Iterator[str]:
    assert isinstance(built.settings, AwsSettings)
    kinds = ("aws:efs/fileSystem:FileSystem", "aws:s3/bucket:Bucket", "aws:backup/vault:Vault")
    for resource in built.of_type(*kinds):
        if resource.retain_on_delete is not built.settings.storage.retain:
            yield f"{resource.name}: retained {resource.retain_on_delete}"
    for key in built.of_type("aws:kms/key:Key"):
        data = key.name.startswith("storage")
        if data and key.retain_on_delete is not built.settings.storage.retain:
            yield f"{key.name}: retained {key.retain_on_delete}; the data is unreadable without it"
