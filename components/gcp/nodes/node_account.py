"""Who nodes are to Google."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp

from components.gcp.reference import Place

ROLE = "roles/container.defaultNodeServiceAccount"
"""Google's least for a node: logs, metrics, and to say how it is."""


@dataclass(frozen=True, kw_only=True)
class NodeAccountArgs:
    place: Place
    after: Sequence[pulumi.Resource]
    """The API that makes accounts."""


class NodeAccount(pulumi.ComponentResource):
    """A service account that can do nothing but be a node; the right to pull images comes with
    their repository. Without it GKE takes the project's default account, which may be an editor."""

    email: pulumi.Output[str]
    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: NodeAccountArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:gcp:NodeAccount", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        account = gcp.serviceaccount.Account(
            f"{name}-account",
            # Google takes a name once, and keeps it for a while after.
            account_id=pulumi.Output.concat("spotrain-nodes-", args.place.suffix),
            display_name=f"Nodes of spotrain {args.place.labels['stack']}",
            opts=pulumi.ResourceOptions.merge(
                child, pulumi.ResourceOptions(depends_on=list(args.after))
            ),
        )
        right = gcp.projects.IAMMember(
            f"{name}-account",
            project=args.place.project,
            role=ROLE,
            member=account.member,
            opts=child,
        )
        self.email, self.ready = account.email, (right,)
        self.register_outputs({"email": self.email})
