"""The container images: their ECR repositories, and what is built into them."""

import hashlib
import json
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_docker_build as docker_build

from components.cloud import ImageReferences

ROOT = Path(__file__).parents[2]
PLATFORM = docker_build.Platform.LINUX_AMD64
"""GPU instances of every pool are x86."""
KEPT_IMAGES = 30
KINDS = ("training", "controller")
CACHE = "cache"
"""A repository of its own: a cache is pushed under the same tag again and again."""
BUILDER = "components/aws/images.py"
"""This file: built in another way, an image gets another tag, since no tag takes a second image."""


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
        base = self._args.bases.get(kind)
        tag = content_tag(ROOT, sources(ROOT, kind), base or "")
        cache = pulumi.Output.concat(self._cache.repository_url, ":", kind)
        image = docker_build.Image(
            f"{self._name}-{kind}",
            # Relative, so that the state holds no path of the machine that built it.
            context=docker_build.BuildContextArgs(location="."),
            dockerfile=docker_build.DockerfileArgs(location=f"{kind}-image/Dockerfile"),
            build_args={"BASE_IMAGE": base} if base else None,
            platforms=[PLATFORM],
            tags=[pulumi.Output.concat(repository.repository_url, ":", tag)],
            registries=[self._login(repository)],
            cache_from=[
                docker_build.CacheFromArgs(registry=docker_build.CacheFromRegistryArgs(ref=cache))
            ],
            cache_to=[docker_build.CacheToArgs(registry=_cache_to(cache))],
            push=True,
            build_on_preview=False,
            opts=self._child,
        )
        return pulumi.Output.format("{0}@{1}", repository.repository_url, image.digest)

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


def _cache_to(ref: pulumi.Output[str]) -> docker_build.CacheToRegistryArgs:
    return docker_build.CacheToRegistryArgs(
        ref=ref,
        mode=docker_build.CacheMode.MAX,  # the stage that builds the package too
        # ECR takes a cache only as an image.
        image_manifest=True,
        oci_media_types=True,
        ignore_error=True,  # a cache that was not written costs time, not the deployment
    )


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


def sources(root: Path, kind: str) -> list[str]:
    """What decides what is in an image: the files that its .dockerignore lets through, its
    Dockerfile, and how it is built. Paths may hold `*`."""
    dockerfile = f"{kind}-image/Dockerfile"
    ignore = f"{dockerfile}.dockerignore"
    lines = (root / ignore).read_text().splitlines()
    return [dockerfile, ignore, BUILDER, *(line[1:] for line in lines if line.startswith("!"))]


def content_tag(root: Path, sources: Iterable[str], base: str) -> str:
    """A tag that changes whenever an image would be built anew, and only then.

    Modes count: they are in the image, and differ where people have different umasks.
    """
    digest = hashlib.sha256(base.encode())
    for file in sorted({file for source in sources for file in _files(root, source)}):
        mode = stat.S_IMODE(file.stat().st_mode)
        digest.update(f"{file.relative_to(root).as_posix()}\0{mode:o}\0".encode())
        digest.update(file.read_bytes() + b"\0")
    return f"src-{digest.hexdigest()[:16]}"


def _files(root: Path, source: str) -> Iterator[Path]:
    for top in root.glob(source):
        for file in [top] if top.is_file() else top.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                yield file
