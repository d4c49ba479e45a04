"""Who may ask Compute Engine what the machines of spot nodes are made of, to price their parts."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp

from components.cloud import PriceSource
from components.gcp.reference import Place
from spotrain import contract


@dataclass(frozen=True, kw_only=True)
class PriceIdentityArgs:
    place: Place
    after: Sequence[pulumi.Resource]
    """The cluster: with it comes the pool of identities that its pods have."""


class PriceIdentity(pulumi.ComponentResource):
    """The right of the refresher's pods: to read machine types. Prices themselves are public."""

    source: PriceSource

    def __init__(
        self, name: str, args: PriceIdentityArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:gcp:PriceIdentity", name, {}, opts)
        place = args.place
        after = pulumi.ResourceOptions(parent=self, depends_on=list(args.after))
        role = gcp.projects.IAMCustomRole(
            f"{name}-role",
            # A removed role keeps its id for weeks.
            role_id=pulumi.Output.concat("spotrainPrices_", place.suffix),
            title=f"Price the machines of spotrain {place.labels['stack']}",
            permissions=["compute.machineTypes.get"],
            opts=after,
        )
        right = gcp.projects.IAMMember(
            f"{name}-identity",
            project=place.project,
            role=role.name,
            member=place.pod_identity(contract.SYSTEM_NAMESPACE, contract.PRICES_REFRESHER),
            opts=after,
        )
        self.source = PriceSource(arguments=("gcp", "--project", place.project), ready=(right,))
        self.register_outputs({})
