"""How an image is built from this repository, and pushed; alike on every cloud."""

from dataclasses import dataclass

import pulumi
import pulumi_docker_build as docker_build

from components.image_content import ROOT, content_tag, sources

PLATFORM = docker_build.Platform.LINUX_AMD64
"""GPU machines of every pool are x86."""


@dataclass(frozen=True, kw_only=True)
class Registry:
    """Where images go, and as whom."""

    repository: pulumi.Input[str]
    """Of this image, whose tags never move."""
    cache: pulumi.Input[str]
    """With a tag an image: a cache is pushed under the same tag again and again."""
    login: docker_build.RegistryArgs


def build(
    name: str, kind: str, registry: Registry, *, base: str | None, opts: pulumi.ResourceOptions
) -> pulumi.Output[str]:
    """Builds and pushes an image; its reference, by digest. `base`: where it is not the
    Dockerfile's own."""
    tag = content_tag(ROOT, sources(ROOT, kind), base or "")
    cache = pulumi.Output.concat(registry.cache, ":", kind)
    image = docker_build.Image(
        name,
        # Relative, so that the state holds no path of the machine that built it.
        context=docker_build.BuildContextArgs(location="."),
        dockerfile=docker_build.DockerfileArgs(location=f"{kind}-image/Dockerfile"),
        build_args={"BASE_IMAGE": base} if base else None,
        platforms=[PLATFORM],
        tags=[pulumi.Output.concat(registry.repository, ":", tag)],
        registries=[registry.login],
        cache_from=[
            docker_build.CacheFromArgs(registry=docker_build.CacheFromRegistryArgs(ref=cache))
        ],
        cache_to=[docker_build.CacheToArgs(registry=_cache_to(cache))],
        push=True,
        build_on_preview=False,
        opts=opts,
    )
    return pulumi.Output.format("{0}@{1}", registry.repository, image.digest)


def _cache_to(ref: pulumi.Output[str]) -> docker_build.CacheToRegistryArgs:
    return docker_build.CacheToRegistryArgs(
        ref=ref,
        mode=docker_build.CacheMode.MAX,  # the stage that builds the package too
        # ECR takes a cache only as an image.
        image_manifest=True,
        oci_media_types=True,
        ignore_error=True,  # a cache that was not written costs time, not the deployment
    )
