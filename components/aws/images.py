"""The container images: two ECR repositories, and what is built into them."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pulumi
import pulumi_aws as aws
import pulumi_docker_build as docker_build

from components.cloud import ImageReferences

ROOT = Path(__file__).parents[2]
PLATFORM = docker_build.Platform.LINUX_AMD64
"""GPU instances of every pool are x86."""
KEPT_IMAGES = 30
PACKAGE = ("pyproject.toml", "requirements.lock", "README.md", "src/spotrain")
"""What both images install."""
SOURCES: Mapping[str, tuple[str, ...]] = {
    "training": (*PACKAGE, "training-image"),
    "controller": (*PACKAGE, "controller-image"),
}
"""Image -> files and folders that decide what is in it."""


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
        self.references = ImageReferences(
            training=self._image("training"), controller=self._image("controller")
        )
        self.register_outputs(
            {"training": self.references.training, "controller": self.references.controller}
        )

    def _image(self, kind: str) -> pulumi.Output[str]:
        repository = self._repository(kind)
        base = self._args.bases.get(kind)
        login = aws.ecr.get_authorization_token_output(
            registry_id=repository.registry_id, opts=pulumi.InvokeOutputOptions(parent=self)
        )
        tag = content_tag(ROOT, SOURCES[kind], base or "")
        image = docker_build.Image(
            f"{self._name}-{kind}",
            # Relative, so that the state holds no path of the machine that built it.
            context=docker_build.BuildContextArgs(location="."),
            dockerfile=docker_build.DockerfileArgs(location=f"{kind}-image/Dockerfile"),
            build_args={"BASE_IMAGE": base} if base else None,
            platforms=[PLATFORM],
            tags=[pulumi.Output.concat(repository.repository_url, ":", tag)],
            registries=[
                docker_build.RegistryArgs(
                    address=login.proxy_endpoint,
                    username=login.user_name,
                    password=pulumi.Output.secret(login.password),
                )
            ],
            push=True,
            build_on_preview=False,
            opts=self._child,
        )
        return pulumi.Output.format("{0}@{1}", repository.repository_url, image.digest)

    def _repository(self, kind: str) -> aws.ecr.Repository:
        repository = aws.ecr.Repository(
            f"{self._name}-{kind}",
            image_tag_mutability="IMMUTABLE",
            image_scanning_configuration=aws.ecr.RepositoryImageScanningConfigurationArgs(
                scan_on_push=True
            ),
            encryption_configurations=[
                aws.ecr.RepositoryEncryptionConfigurationArgs(encryption_type="AES256")
            ],
            force_delete=True,  # images are built from this repository, so a destroy may end
            tags=dict(self._args.tags),
            opts=self._child,
        )
        newest = {"tagStatus": "any", "countType": "imageCountMoreThan", "countNumber": KEPT_IMAGES}
        rule = {"rulePriority": 1, "selection": newest, "action": {"type": "expire"}}
        aws.ecr.LifecyclePolicy(
            f"{self._name}-{kind}",
            repository=repository.name,
            policy=pulumi.Output.json_dumps({"rules": [rule]}),
            opts=self._child,
        )
        return repository


def content_tag(root: Path, sources: Iterable[str], base: str) -> str:
    """A tag that changes exactly when the image would: the same content is never pushed twice."""
    digest = hashlib.sha256(base.encode())
    for source in sources:
        top = root / source
        files = [top] if top.is_file() else sorted(f for f in top.rglob("*") if f.is_file())
        for file in files:
            if "__pycache__" not in file.parts:
                digest.update(file.relative_to(root).as_posix().encode() + b"\0")
                digest.update(file.read_bytes() + b"\0")
    return f"src-{digest.hexdigest()[:16]}"
