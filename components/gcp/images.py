"""The container images: their repositories in Artifact Registry, and what is built into them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_docker_build as docker_build
import pulumi_gcp as gcp

from components import image_build
from components.cloud import ImageReferences
from components.gcp.reference import Place
from components.image_content import KINDS

KEPT_IMAGES = 30
CACHE = "cache"
"""A repository of its own: a cache is pushed under the same tag again and again."""
Policy = gcp.artifactregistry.RepositoryCleanupPolicyArgs
Condition = gcp.artifactregistry.RepositoryCleanupPolicyConditionArgs


@dataclass(frozen=True, kw_only=True)
class ImagesArgs:
    bases: Mapping[str, str]
    """Image -> base image, where it is not the Dockerfile's own."""
    place: Place
    node_account: pulumi.Input[str]
    """E-mail address of who pulls them."""
    scan: bool
    after: Sequence[pulumi.Resource]
    """The API that makes repositories."""


class Images(pulumi.ComponentResource):
    """Builds and pushes both images. Tags name the content and never move; everything that runs
    refers to the digest."""

    references: ImageReferences
    ready: tuple[pulumi.Resource, ...]
    """Nodes may pull them."""

    def __init__(
        self, name: str, args: ImagesArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:gcp:Images", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        repository = self._repository("images", IMAGE_POLICIES, immutable=True)
        cache = self._repository(CACHE, CACHE_POLICIES, immutable=False)
        pull = gcp.artifactregistry.RepositoryIamMember(
            f"{name}-pull",
            location=args.place.region,
            repository=repository.repository_id,
            role="roles/artifactregistry.reader",
            member=pulumi.Output.concat("serviceAccount:", args.node_account),
            opts=self._child,
        )
        login, cached = self._login(), self._url(cache, CACHE)
        images = {
            kind: image_build.build(
                f"{name}-{kind}",
                kind,
                image_build.Registry(
                    repository=self._url(repository, kind), cache=cached, login=login
                ),
                base=args.bases.get(kind),
                opts=self._child,
            )
            for kind in KINDS
        }
        self.references, self.ready = ImageReferences(**images), (pull,)
        self.register_outputs(dict(images))

    def _host(self) -> str:
        return f"{self._args.place.region}-docker.pkg.dev"

    def _url(self, repository: gcp.artifactregistry.Repository, image: str) -> pulumi.Output[str]:
        return pulumi.Output.concat(
            f"{self._host()}/{self._args.place.project}/", repository.repository_id, f"/{image}"
        )

    def _login(self) -> docker_build.RegistryArgs:
        """As whoever runs the program."""
        client = gcp.organizations.get_client_config_output(
            opts=pulumi.InvokeOutputOptions(parent=self)
        )
        return docker_build.RegistryArgs(
            address=self._host(),
            username="oauth2accesstoken",
            password=pulumi.Output.secret(client.access_token),
        )

    def _repository(
        self, role: str, policies: Sequence[Policy], *, immutable: bool
    ) -> gcp.artifactregistry.Repository:
        a = gcp.artifactregistry
        return a.Repository(
            f"{self._name}-{role}",
            repository_id=pulumi.Output.concat(f"spotrain-{role}-", self._args.place.suffix),
            location=self._args.place.region,
            format="DOCKER",
            docker_config=a.RepositoryDockerConfigArgs(immutable_tags=immutable),
            cleanup_policies=list(policies),
            vulnerability_scanning_config=a.RepositoryVulnerabilityScanningConfigArgs(
                # A cache is no image: nothing runs it.
                enablement_config="INHERITED" if self._args.scan and immutable else "DISABLED"
            ),
            opts=pulumi.ResourceOptions.merge(
                self._child, pulumi.ResourceOptions(depends_on=list(self._args.after))
            ),
        )


IMAGE_POLICIES = (
    Policy(
        id="keep-newest",
        action="KEEP",
        most_recent_versions=gcp.artifactregistry.RepositoryCleanupPolicyMostRecentVersionsArgs(
            keep_count=KEPT_IMAGES
        ),
    ),
    Policy(id="remove-others", action="DELETE", condition=Condition(older_than="2592000s")),
)
CACHE_POLICIES = (
    # What a newer cache has taken the tag from.
    Policy(
        id="remove-untagged",
        action="DELETE",
        condition=Condition(tag_state="UNTAGGED", older_than="86400s"),
    ),
)
