"""The container images: their ECR repositories, and what is built into them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_docker_build as docker_build

from components import image_build
from components.cloud import ImageReferences
from components.image_content import KINDS

KEPT_IMAGES = 30
CACHE = "cache"
"""A repository of its own: a cache is pushed under the same tag again and again."""


@dataclass(frozen=True, kw_only=True)
class ImagesArgs:
    bases: Mapping[str, str]
    """Image -> base image, where it is not the Dockerfile's own."""
    tags: Mapping[str, str]


class Images(pulumi.ComponentResource):
    """Builds and pushes both images. Tags name the content and never move; everything that runs
    refers to the digest."""

    references: ImageReferences

    def __init__(
        self, name: str, args: ImagesArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:Images", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        self._cache = self._repository(CACHE, is_image=False)
        images = {kind: self._image(kind) for kind in KINDS}
        self.references = ImageReferences(**images)
        self.register_outputs(dict(images))

    def _image(self, kind: str) -> pulumi.Output[str]:
        repository = self._repository(kind, is_image=True)
        registry = image_build.Registry(
            repository=repository.repository_url,
            cache=self._cache.repository_url,
            login=self._login(repository),
        )
        base = self._args.bases.get(kind)
        return image_build.build(
            f"{self._name}-{kind}", kind, registry, base=base, opts=self._child
        )

    def _login(self, repository: aws.ecr.Repository) -> docker_build.RegistryArgs:
        """To the account's registry: image and cache are in the same one."""
        login = aws.ecr.get_authorization_token_output(
            registry_id=repository.registry_id, opts=pulumi.InvokeOutputOptions(parent=self)
        )
        return docker_build.RegistryArgs(
            address=login.proxy_endpoint,
            username=login.user_name,
            password=pulumi.Output.secret(login.password),
        )

    def _repository(self, role: str, *, is_image: bool) -> aws.ecr.Repository:
        repository = aws.ecr.Repository(
            f"{self._name}-{role}",
            image_tag_mutability="IMMUTABLE" if is_image else "MUTABLE",
            # A cache is no image: the scanner has nothing to read in it, and nothing runs it.
            image_scanning_configuration=aws.ecr.RepositoryImageScanningConfigurationArgs(
                scan_on_push=is_image
            ),
            encryption_configurations=[
                aws.ecr.RepositoryEncryptionConfigurationArgs(encryption_type="AES256")
            ],
            force_delete=True,  # images are built from this repository, so a destroy may end
            tags=dict(self._args.tags),
            opts=self._child,
        )
        aws.ecr.LifecyclePolicy(
            f"{self._name}-{role}",
            repository=repository.name,
            policy=json.dumps({"rules": [IMAGE_RULE if is_image else CACHE_RULE]}),
            opts=self._child,
        )
        return repository


def _rule(selection: dict[str, Any]) -> dict[str, Any]:
    return {"rulePriority": 1, "selection": selection, "action": {"type": "expire"}}


IMAGE_RULE = _rule(
    {"tagStatus": "any", "countType": "imageCountMoreThan", "countNumber": KEPT_IMAGES}
)
CACHE_RULE = _rule(
    {
        "tagStatus": "untagged",  # what a newer cache has taken the tag from
        "countType": "sinceImagePushed",
        "countUnit": "days",
        "countNumber": 1,
    }
)
