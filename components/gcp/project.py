"""The project that everything goes into."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp
import pulumi_random as random

from components.gcp.reference import Place

APIS = (
    "artifactregistry",
    "cloudbilling",  # the list of prices
    "cloudkms",
    "cloudresourcemanager",
    "compute",
    "container",
    "containerfilesystem",  # images start while they are on the way
    "file",
    "iam",
    "logging",
    "monitoring",
    "storage",
)
BUDGET_API = "billingbudgets"


@dataclass(frozen=True, kw_only=True)
class ProjectArgs:
    project: str
    region: str
    has_budget: bool
    labels: Mapping[str, str]


class Project(pulumi.ComponentResource):
    """Google's APIs, which a new project has switched off; and what is known of the project, once
    they can be asked. They stay on at a destroy: other things may use them by then."""

    place: Place
    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: ProjectArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:gcp:Project", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        self.ready = tuple(
            gcp.projects.Service(
                f"{name}-{api}",
                service=f"{api}.googleapis.com",
                disable_on_destroy=False,
                opts=child,
            )
            for api in (*APIS, *([BUDGET_API] if args.has_budget else []))
        )
        found = gcp.organizations.get_project_output(
            project_id=args.project,
            opts=pulumi.InvokeOutputOptions(parent=self, depends_on=list(self.ready)),
        )
        suffix = random.RandomString(
            f"{name}-suffix", length=6, upper=False, special=False, opts=child
        )
        self.place = Place(
            project=args.project,
            region=args.region,
            number=found.number,
            suffix=suffix.result,
            labels=dict(args.labels),
        )
        self.register_outputs({})


def labels(tags: Mapping[str, str]) -> dict[str, str]:
    """Tags as Google takes them: lower case, and no dots."""
    return {key: value.lower().replace(".", "-") for key, value in tags.items()}
