"""Google's APIs, which a new project has switched off."""

from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp


@dataclass(frozen=True, kw_only=True)
class ServicesArgs:
    names: tuple[str, ...]
    """Without .googleapis.com."""


class Services(pulumi.ComponentResource):
    """Switched on, and left on at a destroy: other things in the project may use them by then."""

    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: ServicesArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:gcp:Services", name, {}, opts)
        self.ready = tuple(
            gcp.projects.Service(
                f"{name}-{api}",
                service=f"{api}.googleapis.com",
                disable_on_destroy=False,
                opts=pulumi.ResourceOptions(parent=self),
            )
            for api in args.names
        )
        self.register_outputs({})
